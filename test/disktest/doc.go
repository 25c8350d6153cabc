// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disktest creates the disk of a node for tests, as the installer leaves it. That is a manifest, directories
// of revisions with generations, the pointers, and etcd's data with Secrets. It is not safe for concurrent use.
package disktest
