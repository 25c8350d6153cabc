// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"certrotation.dev/test/cluster"
)

// name is the name of the program, its process and its log.
const name = "cert-manager"

var errNotReady = errors.New("its caches are not filled")

// Start installs the CustomResourceDefinitions of cert-manager, starts its controllers, and returns when their caches are filled. It
// fails if they already run on the cluster. The caller stops the process; Cluster.Stop stops it too.
func Start(ctx context.Context, c *cluster.Cluster) (*cluster.Process, error) {
	program, definitions := c.Tool(name), c.Tool(name+"-definitions.yaml")
	// Stat both: go's test cache tracks files that a test opens or stats, not programs that it runs.
	for _, file := range []string{program, definitions} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%s is not built, run `hack/build-tools.sh %s`: %w", file, name, err)
		}
	}
	for _, args := range [][]string{
		// Server-side: the definitions are too long for the annotation of client-side apply.
		{"apply", "--server-side", "-f", definitions},
		{"wait", "--for=condition=Established", "--timeout=1m", "-f", definitions},
	} {
		command := exec.CommandContext(ctx, c.Tool("kubectl"), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("kubectl %v: %w: %s", args, err, out)
		}
	}
	p := c.AddProcess(name, program, "--kubeconfig="+c.Kubeconfig(), "--v=2")
	if err := p.Start(); err != nil {
		return nil, err
	}
	if err := p.WaitReady(ctx, func(context.Context) error {
		if !strings.Contains(p.Printed(), `"Ready"`) {
			return errNotReady
		}
		return nil
	}); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}
