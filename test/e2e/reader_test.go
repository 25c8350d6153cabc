// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// TestReaderSeesEverythingAndMayNothing acts as a user whose only rights are get, list and watch on our two
// resources.
func TestReaderSeesEverythingAndMayNothing(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	s.must(t, "create", "clusterrolebinding", "e2e-reader", "--clusterrole=certrotation-viewer", "--user=e2e-reader")
	kubeconfig, err := s.Cluster.UserKubeconfig("e2e-reader")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) (string, error) {
		return s.run(t, "", kubeconfig, s.Cluster.Tool("kubectl"), args...)
	}
	allowed := []struct {
		name string
		args []string
		want []string
	}{
		{"list", []string{"get", "certificaterotations", "-A"}, []string{"service-signer", "service-server", "service-client-a", "service-client-b", "etcd-signer", "etcd-peer-master-2"}},
		{"short name", []string{"get", "certrot", "-n", demo}, []string{"service-signer"}},
		{"category", []string{"get", "certrotation", "-n", demo}, []string{"service-signer", "service-ca-bundle"}},
		{"bundles", []string{"get", "bundlestatuses", "-A"}, []string{"service-ca-bundle", "etcd-ca-bundle", "etcd-metrics-ca-bundle"}},
		{"wide", []string{"get", "certificaterotations", "-n", demo, "-o", "wide"}, []string{"SERIAL", "KEY", "BLOCKER"}},
		{"yaml", []string{"get", "certificaterotation", "-n", demo, "service-signer", "-o", "yaml"}, []string{"role: Signer", "stage: Stable"}},
		{"chunks", []string{"get", "certificaterotations", "-A", "--chunk-size=2"}, []string{"service-client-b", "etcd-metric-signer"}},
		{"field selector", []string{"get", "certificaterotations", "-A", "--field-selector=spec.role=Signer"}, []string{"etcd-signer", "service-signer"}},
		{"describe", []string{"describe", "certificaterotation", "-n", demo, "service-server"}, []string{"Fingerprint", "Ready"}},
		{"explain", []string{"explain", "certificaterotations.status.stage"}, []string{"stage"}},
		{"wait", []string{"wait", "--for=condition=Ready", "certificaterotation/service-server", "-n", demo, "--timeout=2m"}, []string{"condition met"}},
		{"tree", []string{"certrotation", "tree", "-n", demo}, []string{"service-signer", "service-ca-bundle", "client-b"}},
	}
	for _, tt := range allowed {
		t.Run(tt.name, func(t *testing.T) {
			out, err := kubectl(tt.args...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(out, "PRIVATE KEY") {
				t.Error("a private key is shown")
			}
		})
	}
	t.Run("field selector leaves out the rest", func(t *testing.T) {
		out, err := kubectl("get", "certificaterotations", "-A", "--field-selector=spec.role=Signer")
		if err != nil || strings.Contains(out, "service-server") {
			t.Errorf("err %v\n%s", err, out)
		}
	})
	for name, args := range map[string][]string{
		"secrets": {"get", "secrets", "-n", demo},
		"rotate":  {"certrotation", "rotate", "-n", demo, "service-signer"},
		"dry run": {"certrotation", "plan", "-n", demo, "service-signer"},
		"abort":   {"certrotation", "abort", "-n", demo, "service-signer"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			out, err := kubectl(args...)
			if err == nil || !strings.Contains(strings.ToLower(out), "forbidden") {
				t.Errorf("err %v\n%s", err, out)
			}
		})
	}
}
