// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundlestatus serves the virtual resource bundlestatuses: get, list and watch from a view store. Like
// certificaterotations it has no create, update or delete on purpose, and a test holds this. The package starts no
// goroutine.
package bundlestatus
