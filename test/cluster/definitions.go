// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// ApplyDefinitions applies the CustomResourceDefinitions of certrotation and waits until they are established.
func (c *Cluster) ApplyDefinitions(ctx context.Context) error {
	root, err := RepositoryRoot()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	for _, args := range [][]string{
		{"apply", "--server-side=false", "-k", filepath.Join(root, "manifests", "crds")},
		{
			"wait", "--for=condition=Established", "--timeout=1m",
			"crd/rotationconfigurations.config.certrotation.dev", "crd/rotationrecords.config.certrotation.dev",
			"crd/staticpodclasses.config.certrotation.dev",
		},
	} {
		cmd := exec.CommandContext(ctx, c.Tool("kubectl"), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
		}
	}
	return nil
}
