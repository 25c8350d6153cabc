// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeflags has the flags that the commands on a node share: installer, prune, doctor and recover. They say
// where the revisions are on the node's disk, and how long a command may take. A layout is only as valid as the flags
// that set it. The package keeps no state.
package nodeflags
