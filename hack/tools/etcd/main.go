// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd is the upstream etcd server, built from its module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
