// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/test/cluster"
)

// Headings of docs/install.md.
const (
	WithKubectl = "With kubectl"
	WithHelm    = "With Helm"
	FirstPKI    = "A first PKI"
	Uninstall   = "Uninstall"
)

// InstallPods follows a section of docs/install.md, and returns when the API answers through kube-apiserver.
func (s *Stranger) InstallPods(ctx context.Context, heading string) error {
	if _, err := s.Follow(ctx, heading); err != nil {
		return err
	}
	return s.in.waitForAPI(ctx)
}

// WaitDeployments waits until Deployments match their specs.
func WaitDeployments(ctx context.Context, client kubernetes.Interface, namespace string, names ...string) error {
	return cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, func(ctx context.Context) error {
		for _, name := range names {
			d, err := client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("get the Deployment %s: %w", name, err)
			}
			want := *d.Spec.Replicas
			if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
				return fmt.Errorf("of the Deployment %s %d of %d pods are available, %d updated, %d in all", name, s.AvailableReplicas, want, s.UpdatedReplicas, s.Replicas)
			}
		}
		return nil
	})
}
