// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"path/filepath"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// PlaneNamespaces are the namespaces with a control plane each: manifests/samples/control-plane.
var PlaneNamespaces = []string{"plane-a", "plane-b"}

const (
	// OperatorNamespace is where its operator runs.
	OperatorNamespace = "control-planes"

	operatorImage = "certrotation.dev/control-plane-operator:local"
)

// InstallControlPlanes runs the operator of the sample, and returns when its control planes are available and all of
// their certificates are Ready.
func (c *Cluster) InstallControlPlanes(ctx context.Context) error {
	if err := c.importHosted(ctx); err != nil {
		return err
	}
	if err := c.importProgram(ctx, c.Binary("control-plane-operator"), operatorImage); err != nil {
		return err
	}
	expected := installation.Expected{}
	for _, namespace := range PlaneNamespaces {
		if err := c.makeVolumes(ctx, namespace); err != nil {
			return err
		}
		if err := c.applyGuarded(ctx, namespace, "manifests/samples/control-plane/plane"); err != nil {
			return err
		}
		// Six authorities and eight leaves.
		expected[namespace] = 14
	}
	// The environment first: a pod keeps the environment that it starts with.
	sample := filepath.Join(c.root, "manifests", "samples", "control-plane")
	if _, err := c.Kubectl(ctx, "apply", "-f", filepath.Join(sample, "namespace.yaml")); err != nil {
		return err
	}
	if err := c.ApplyEnvironment(ctx, OperatorNamespace); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "apply", "-k", sample); err != nil {
		return err
	}
	if err := c.WaitReady(ctx, expected); err != nil {
		return err
	}
	for _, namespace := range PlaneNamespaces {
		if err := c.waitDeployments(ctx, namespace, cluster.APIServer); err != nil {
			return err
		}
		fmt.Fprintf(c.cfg.Progress, "%-24s runs in namespace %s\n", "samples/control-plane", namespace)
	}
	return nil
}
