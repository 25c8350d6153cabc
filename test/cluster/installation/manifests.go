// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// overlay adapts the base to processes on the loopback interface.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- %[1]s
- service.yaml
patches:
- target: {kind: APIService, name: v1alpha1.certrotation.dev}
  patch: |-
    - {op: replace, path: /spec/service/port, value: %[2]d}
`

// external is the Service with the name that kube-apiserver connects to.
const external = `apiVersion: v1
kind: Service
metadata:
  name: certrotation
  namespace: certrotation-system
spec:
  type: ExternalName
  externalName: localhost
  ports: [{port: %d}]
`

// applyBase applies the base, unless it was applied with the same API port, the only part that can change.
func (in *Installation) applyBase(ctx context.Context) error {
	if in.applied == in.ports[apiPort] {
		return nil
	}
	if err := in.Cluster.ApplyDefinitions(ctx); err != nil {
		return err
	}
	dir := filepath.Join(in.Cluster.Dir(), "manifests", "certrotation")
	base, err := in.Relative(dir, "manifests/base")
	if err != nil {
		return err
	}
	err = in.ApplyOverlay(ctx, dir, map[string]string{
		"kustomization.yaml": fmt.Sprintf(overlay, base, in.ports[apiPort]),
		"service.yaml":       fmt.Sprintf(external, in.ports[apiPort]),
	})
	if err != nil {
		return err
	}
	in.applied = in.ports[apiPort]
	in.say("%-24s applied (definitions, RBAC, APIService, webhook, configuration)", "manifests/base")
	return nil
}

// Relative returns the path of a repository directory relative to the overlay, as kustomize requires.
func (in *Installation) Relative(dir, to string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", dir, err)
	}
	from, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", dir, err)
	}
	path, err := filepath.Rel(from, filepath.Join(in.root, to))
	if err != nil {
		return "", fmt.Errorf("find %s from %s: %w", to, from, err)
	}
	return path, nil
}

// ApplyOverlay writes the files of a kustomization and applies it.
func (in *Installation) ApplyOverlay(ctx context.Context, dir string, files map[string]string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	_, err := in.Kubectl(ctx, "apply", "--server-side=false", "-k", dir)
	return err
}

// Kubectl runs kubectl as administrator and returns its output.
func (in *Installation) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, in.Cluster.Tool("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+in.Cluster.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(in.Cluster.Dir(), "kube-cache"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %v: %w: %s", args, err, errs.String())
	}
	return out.String(), nil
}
