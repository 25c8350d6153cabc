// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeflags has the flags that the commands on a node share: installer, prune, doctor and recover say in the same
// words where the revisions are on its disk, and how long they may take. A layout whose flags were added is as good as they
// are; nothing here keeps state.
package nodeflags
