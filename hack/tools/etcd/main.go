// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd is the upstream etcd server, built from its module. Before it starts, it reads KEY=VALUE lines from the
// file that the environment variable ETCD_MEMBER_ENV_FILE names, and sets them as environment. A static pod's manifest is
// the same on each node, so this is how a member that joins learns ETCD_INITIAL_CLUSTER and ETCD_INITIAL_CLUSTER_STATE,
// which matter as long as its data directory is empty. A file that does not exist is no error.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if err := setEnvironment(os.Getenv("ETCD_MEMBER_ENV_FILE")); err != nil {
		fmt.Fprintf(os.Stderr, "etcd: ETCD_MEMBER_ENV_FILE: %v\n", err)
		os.Exit(1)
	}
	etcdmain.Main(os.Args)
}
