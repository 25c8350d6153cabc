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

const (
	// PlaneNamespace is the namespace of the control plane of manifests/samples/control-plane.
	PlaneNamespace = "plane-a"
	// OperatorNamespace is where its operator runs.
	OperatorNamespace = "control-planes"

	operatorImage = "certrotation.dev/control-plane-operator:local"
)

// InstallControlPlane runs the operator of the sample, and returns when its control plane is available and all of its
// certificates are Ready.
func (c *Cluster) InstallControlPlane(ctx context.Context) error {
	if err := c.importHosted(ctx); err != nil {
		return err
	}
	if err := c.importProgram(ctx, c.Binary("control-plane-operator"), operatorImage); err != nil {
		return err
	}
	if err := c.makeVolumes(ctx, PlaneNamespace); err != nil {
		return err
	}
	if err := c.applyGuarded(ctx, PlaneNamespace, "manifests/samples/control-plane/plane"); err != nil {
		return err
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
	// Six authorities and eight leaves.
	if err := c.WaitReady(ctx, installation.Expected{PlaneNamespace: 14}); err != nil {
		return err
	}
	if err := c.waitDeployments(ctx, PlaneNamespace, cluster.APIServer); err != nil {
		return err
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s runs in namespace %s\n", "samples/control-plane", PlaneNamespace)
	return nil
}
