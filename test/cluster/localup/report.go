// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"certrotation.dev/test/cluster/installation"
)

const next = `
What to try next:
  . .local/env
  kubectl get certificaterotations -A -o wide
  kubectl certrotation tree -n mtls-demo
  kubectl certrotation rotate -n mtls-demo service-signer --wait
  curl -s $SAMPLE_STATS_URL
  curl -s -X POST $SAMPLE_CLIENT_B_URL/hold     # a client that does not reload; /resume ends it
  make down
`

// writeEnv writes the shell variables of .local/env and returns the file's name.
func writeEnv(in *installation.Installation, s *installation.Sample) (string, error) {
	file := filepath.Join(in.Cluster.Dir(), "env")
	env := fmt.Sprintf(`export KUBECONFIG=%q
export PATH="%s:%s:$PATH"
export SAMPLE_STATS_URL=%q
export SAMPLE_SERVER_ADDR=%q
export SAMPLE_CLIENT_A_URL=%q
export SAMPLE_CLIENT_B_URL=%q
`, in.Cluster.Kubeconfig(), filepath.Dir(in.Cluster.Tool("kubectl")), filepath.Dir(in.Binary("certrotation")),
		s.StatsURL, s.ServerAddress, s.ControlURL["a"], s.ControlURL["b"])
	if err := os.WriteFile(file, []byte(env), 0o600); err != nil {
		return file, fmt.Errorf("write %s: %w", file, err)
	}
	return file, nil
}

// own prints certrotation's resources. onNodes prints the resources of a sample whose nodes run pods.
var (
	own     = []string{"get certificaterotations -A", "get bundlestatuses -A"}
	onNodes = append([]string{"get nodes", "get pods -A -o wide"}, own...)
)

// show runs kubectl commands and prints them with their output, as a person sees it.
func show(ctx context.Context, out io.Writer, in *installation.Installation, commands ...string) error {
	for _, command := range commands {
		table, err := in.Kubectl(ctx, strings.Fields(command)...)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n$ kubectl %s\n%s", command, table)
	}
	return nil
}
