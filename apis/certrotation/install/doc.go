// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install registers the API group certrotation.dev in schemes, and makes the scheme and the codecs of the
// aggregated API server. Every call returns new values that the caller owns.
package install
