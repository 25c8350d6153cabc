// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import "syscall"

// namespaces are the kinds of namespaces that each node has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS
