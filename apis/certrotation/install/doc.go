// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install puts the API group certrotation.dev into schemes, and makes the scheme and the codecs that the
// aggregated API server runs with. It keeps no state: every call returns new values that the caller owns.
package install
