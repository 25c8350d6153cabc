// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/workernodes"
)

// secondInstallation applies the manifests again in another namespace. The new installation takes over the API, the
// guard and the rights. The log of the first one tells that, and what to do.
func secondInstallation(t *testing.T, c *workernodes.Cluster) {
	t.Helper()
	const second = "certrotation-second"
	rendered, err := c.Kubectl(t.Context(), "kustomize", filepath.Join(c.Cluster.Dir(), "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "second.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(rendered, installation.Namespace, second)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	if err := installation.WaitDeployments(t.Context(), c.Client, second, "certrotation-serve", "certrotation-controller"); err != nil {
		t.Fatal(err)
	}
	says := fmt.Sprintf("that of an installation in namespace %s, and a cluster has one: delete the one in %s, or apply its manifests again", second, installation.Namespace)
	err = cluster.Until(t.Context(), time.Second, time.Minute, func(ctx context.Context) error {
		rows, err := c.Kubectl(ctx, "get", "certificaterotations", "-n", second)
		if err == nil && !strings.Contains(rows, "certrotation-signer") {
			err = fmt.Errorf("the second installation shows %q", rows)
		}
		if err != nil {
			return err
		}
		leader, err := c.Client.CoordinationV1().Leases(installation.Namespace).Get(ctx, "certrotation-controller", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod, _, _ := strings.Cut(*leader.Spec.HolderIdentity, "_")
		log, err := c.Kubectl(ctx, "logs", "-n", installation.Namespace, pod)
		if err == nil && !strings.Contains(log, says) {
			err = fmt.Errorf("the log of %s does not say %q", pod, says)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
