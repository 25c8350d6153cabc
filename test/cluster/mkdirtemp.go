// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "os"

// MkdirTemp makes a directory for a cluster with nodes, as os.MkdirTemp does, in memory if this machine has enough of it. A disk
// that is busy with something else for half a minute, a build for instance, takes the leader from every etcd and the lease from
// every controller, which says nothing of a rotation. Nothing gets easier by it: a node that loses its power here loses its
// processes, and what these have written is there afterwards in any case.
func MkdirTemp(prefix string) (string, error) { return os.MkdirTemp(memoryDir(), prefix) }
