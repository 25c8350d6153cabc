// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

const (
	// PlaneNamespace is the namespace of the control plane of manifests/samples/control-plane.
	PlaneNamespace = "plane-a"
	// OperatorNamespace is where its operator runs.
	OperatorNamespace = "control-planes"

	operatorImage   = "certrotation.dev/control-plane-operator:local"
	operatorProgram = "control-plane-operator"
)

// InstallControlPlane runs the operator of the sample, and returns when its control plane is available and all of its
// certificates are Ready.
func (c *Cluster) InstallControlPlane(ctx context.Context) error {
	if err := c.importHosted(ctx); err != nil {
		return err
	}
	archive := c.path("images", operatorProgram+".tar")
	files := map[string]string{operatorProgram: filepath.Join(c.root, "bin", operatorProgram)}
	if _, err := nodes.WriteImage(archive, operatorImage, files, []string{"/" + operatorProgram}); err != nil {
		return fmt.Errorf("%w (`make build` builds what is missing)", err)
	}
	if err := c.Network.Import(ctx, archive); err != nil {
		return err
	}
	if err := c.makeVolumes(ctx, PlaneNamespace); err != nil {
		return err
	}
	dir := filepath.Join(c.Installation.Cluster.Dir(), "manifests", PlaneNamespace)
	sample, err := c.Relative(dir, "manifests/samples/control-plane/plane")
	if err != nil {
		return err
	}
	err = c.ApplyOverlay(ctx, dir, map[string]string{
		"kustomization.yaml": fmt.Sprintf(hostedOverlay, PlaneNamespace, sample), "namespace.yaml": fmt.Sprintf(hostedNamespace, PlaneNamespace),
	})
	if err != nil {
		return err
	}
	// The environment first: a pod keeps the environment that it starts with.
	if _, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: OperatorNamespace}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make namespace %s: %w", OperatorNamespace, err)
	}
	if err := c.ApplyEnvironment(ctx, OperatorNamespace); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "apply", "-k", filepath.Join(c.root, "manifests", "samples", "control-plane")); err != nil {
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
