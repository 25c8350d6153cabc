// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundlestatus serves the virtual resource bundlestatuses: get, list and watch from a view store. Like
// certificaterotations, it must not get create, update or delete; a test enforces this. It starts no goroutine.
package bundlestatus
