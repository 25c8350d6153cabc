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

	"certrotation.dev/test/cluster"
)

// overlay makes the base fit processes on the loopback interface.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- %[1]s
- service.yaml
patches:
- target: {kind: APIService, name: v1alpha1.certrotation.dev}
  patch: |-
    - {op: replace, path: /spec/service/port, value: %[2]d}
- target: {kind: ValidatingWebhookConfiguration, name: certrotation-guard}
  patch: |-
    - {op: remove, path: /webhooks/0/clientConfig/service}
    - {op: add, path: /webhooks/0/clientConfig/url, value: "%[3]s"}
    - {op: remove, path: /webhooks/1/clientConfig/service}
    - {op: add, path: /webhooks/1/clientConfig/url, value: "%[3]s"}
`

const service = `apiVersion: v1
kind: Service
metadata:
  name: certrotation
  namespace: certrotation-system
spec:
  type: ExternalName
  externalName: localhost
  ports: [{port: %d}]
`

// ApplyDefinitions has the API server of a cluster serve the kinds that certrotation stores. Install does it too.
func ApplyDefinitions(ctx context.Context, c *cluster.Cluster) error {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	if _, err := kubectl(ctx, c, "apply", "--server-side=false", "-k", filepath.Join(root, "manifests", "crds")); err != nil {
		return err
	}
	_, err = kubectl(ctx, c, "wait", "--for=condition=Established", "--timeout=1m",
		"crd/rotationconfigurations.config.certrotation.dev", "crd/rotationrecords.config.certrotation.dev")
	return err
}

func (in *Installation) applyBase(ctx context.Context) error {
	if err := ApplyDefinitions(ctx, in.Cluster); err != nil {
		return err
	}
	dir := filepath.Join(in.Cluster.Dir(), "manifests", "certrotation")
	base, err := in.relative(dir, "manifests/base")
	if err != nil {
		return err
	}
	err = in.ApplyOverlay(ctx, dir, map[string]string{
		"kustomization.yaml": fmt.Sprintf(overlay, base, in.ports.API, in.WebhookURL()),
		"service.yaml":       fmt.Sprintf(service, in.ports.API),
	})
	if err != nil {
		return err
	}
	in.say("%-24s applied (definitions, RBAC, APIService, webhook, configuration)", "manifests/base")
	return nil
}

// relative is the path of a directory of the repository as kustomize wants it: relative to the overlay.
func (in *Installation) relative(dir, to string) (string, error) {
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

// Kubectl runs kubectl as administrator and returns what it printed.
func (in *Installation) Kubectl(ctx context.Context, args ...string) (string, error) {
	return kubectl(ctx, in.Cluster, args...)
}

func kubectl(ctx context.Context, c *cluster.Cluster, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Tool("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(c.Dir(), "kube-cache"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %v: %w: %s", args, err, errs.String())
	}
	return out.String(), nil
}
