// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "os"

// MkdirTemp makes a directory for a cluster with nodes, like os.MkdirTemp, in memory if this machine has enough. If
// another program, such as a build, keeps the disk busy for half a minute, every etcd loses its leader and every
// controller its lease. That says nothing about a rotation. Tests stay as strict: a node that loses its power loses
// its processes, and what they wrote stays in either case.
func MkdirTemp(prefix string) (string, error) { return os.MkdirTemp(memoryDir(), prefix) }
