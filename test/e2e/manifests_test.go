// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/test/cluster"
)

func manifest(t *testing.T, name string) string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "manifests", name)
}

// TestDeploymentIsAcceptedByTheAPIServer applies the manifests for a cluster of several nodes as a dry run.
func TestDeploymentIsAcceptedByTheAPIServer(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	out := s.must(t, "apply", "--dry-run=server", "-k", manifest(t, "overlays/ha"))
	for _, want := range []string{
		"deployment.apps/certrotation-serve", "deployment.apps/certrotation-controller", "service/certrotation",
		"poddisruptionbudget.policy/certrotation-serve", "networkpolicy.networking.k8s.io/certrotation-controller",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "PodSecurity") {
			t.Errorf("the namespace enforces restricted pods: %s", line)
		}
	}
}

// TestDeploymentUsesFlagsThatExist compares the arguments of the Deployments with the help of the binary.
func TestDeploymentUsesFlagsThatExist(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	rendered := s.must(t, "kustomize", manifest(t, "deployment"))
	found := 0
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &d); err != nil || d.Kind != "Deployment" {
			continue
		}
		found++
		args := d.Spec.Template.Spec.Containers[0].Args
		help, err := exec.CommandContext(t.Context(), s.Binary("certrotation"), args[0], "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("certrotation %s --help: %v", args[0], err)
		}
		for _, arg := range args[1:] {
			flag, _, _ := strings.Cut(arg, "=")
			if !regexp.MustCompile(`(?m)^\s+(-v, )?` + regexp.QuoteMeta(flag) + `\b|^\s+` + regexp.QuoteMeta(flag) + `,`).Match(help) {
				t.Errorf("certrotation %s has no flag %s", args[0], flag)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d Deployments, want 2", found)
	}
}
