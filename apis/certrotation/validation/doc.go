// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates the bodies of the subresources that clients write. The virtual resources themselves are
// computed and need no validation.
//
// The functions are pure and expect defaulted hub objects. They check the form of a body only; whether the party, the
// member and the fingerprints exist is checked by the registry, which knows the state.
package validation
