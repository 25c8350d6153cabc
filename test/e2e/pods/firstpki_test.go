// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster/installation"
)

// TestFirstPKI makes and rotates the PKI of docs/install.md, with its commands.
func TestFirstPKI(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	t.Cleanup(func() {
		if err := s.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), "shop", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	s.firstPKI(t)
}

func (s *system) firstPKI(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	printed, err := s.Stranger.Follow(ctx, installation.FirstPKI)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"kubectl get certificaterotations -A":                                                                           "orders-signer",
		"kubectl certrotation rotate -n shop orders-signer --wait":                                                      "shop/orders-signer is rotated",
		`kubectl patch configmap -n shop orders-ca-bundle --type=merge -p '{"data":{"ca-bundle.crt":""}}' 2>&1 || true`: "NeverEmpty",
	} {
		if out, ran := printed[command]; !ran || !strings.Contains(out, want) {
			t.Errorf("%s prints %q, want %q in it", command, out, want)
		}
		t.Logf("$ %s\n%s", command, printed[command])
	}
}
