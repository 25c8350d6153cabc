// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disktest lays out the disk of a node for tests, as the installer leaves it: a manifest, directories of revisions
// with generations of trust and leaves, the pointers, and etcd's data with Secrets in it. Nothing of it is safe for concurrent
// use.
package disktest
