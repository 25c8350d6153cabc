// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates the bodies of the subresources that clients write. The virtual resources are
// computed and need no validation.
//
// The functions are pure and expect defaulted hub objects. They check only the form of a body. The registry checks
// that the party, the member and the fingerprints exist.
package validation
