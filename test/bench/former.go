// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// former is a build of another revision, in a directory that hack/bench.sh has filled.
type former struct {
	dir string
	// revision is the commit. The help texts are what --help of the programs prints.
	revision, controllerHelp, serveHelp string
}

func openFormer(ctx context.Context, dir string) (*former, error) {
	revision, err := os.ReadFile(filepath.Join(dir, "REVISION"))
	if err != nil {
		return nil, fmt.Errorf("open the former build: %w", err)
	}
	f := &former{dir: dir, revision: strings.TrimSpace(string(revision))}
	for command, help := range map[string]*string{installation.Controller: &f.controllerHelp, installation.Serve: &f.serveHelp} {
		text, err := exec.CommandContext(ctx, f.program(), command, "--help").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("ask %s %s for its flags: %w: %.500s", f.program(), command, err, text)
		}
		*help = string(text)
	}
	return f, nil
}

func (f *former) program() string { return filepath.Join(f.dir, "certrotation") }

// formerPorts are on the loopback interface. webhook is 0 if reviews use the aggregated API.
type formerPorts struct{ api, webhook, controller int }

func (f *former) choosePorts() (formerPorts, error) {
	var p formerPorts
	chosen := []*int{&p.api, &p.controller}
	if hasFlag(f.serveHelp, "webhook-port") {
		chosen = append(chosen, &p.webhook)
	}
	for _, port := range chosen {
		var err error
		if *port, err = cluster.FreePort(); err != nil {
			return p, fmt.Errorf("find a free port: %w", err)
		}
	}
	return p, nil
}

// hasFlag reports whether the help of a program lists a flag: the flags of the builds differ.
func hasFlag(help, name string) bool {
	for field := range strings.FieldsSeq(help) {
		if field == "--"+name {
			return true
		}
	}
	return false
}

// serveArgs are the arguments that package installation uses, with the flags of the former build.
func (f *former) serveArgs(kubeconfig string, p formerPorts) []string {
	args := []string{
		"serve", "--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", p.api),
	}
	if p.webhook != 0 {
		args = append(args, fmt.Sprintf("--webhook-port=%d", p.webhook))
	}
	return args
}

func (f *former) controllerArgs(kubeconfig string, p formerPorts, flags []string) []string {
	args := []string{"controller", "--kubeconfig=" + kubeconfig, "--leader-elect", fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", p.controller)}
	if hasFlag(f.controllerHelp, "allowed-cidrs") {
		args = append(args, "--allowed-cidrs=127.0.0.0/8,::1/128")
	}
	return append(args, flags...)
}

// overlay is a kustomization of the former manifests for processes on the loopback interface.
func (f *former) overlay(base string, p formerPorts) map[string]string {
	kustomization := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- %s
- service.yaml
patches:
- target: {kind: APIService, name: v1alpha1.certrotation.dev}
  patch: |-
    - {op: replace, path: /spec/service/port, value: %d}
`, base, p.api)
	if p.webhook != 0 {
		kustomization += fmt.Sprintf(`- target: {kind: ValidatingWebhookConfiguration, name: certrotation-guard}
  patch: |-
    - {op: remove, path: /webhooks/0/clientConfig/service}
    - {op: add, path: /webhooks/0/clientConfig/url, value: "https://127.0.0.1:%[1]d/validate"}
    - {op: remove, path: /webhooks/1/clientConfig/service}
    - {op: add, path: /webhooks/1/clientConfig/url, value: "https://127.0.0.1:%[1]d/validate"}
`, p.webhook)
	}
	return map[string]string{
		"kustomization.yaml": kustomization,
		"service.yaml": fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: certrotation, namespace: %s}
spec:
  type: ExternalName
  externalName: localhost
  ports: [{port: %d}]
`, installation.Namespace, p.api),
	}
}

// installFormer starts the former build in the control plane, with its own manifests.
func (b *bench) installFormer(ctx context.Context, f *former, controllerFlags ...string) error {
	p, err := f.choosePorts()
	if err != nil {
		return err
	}
	if err := b.applyFormer(ctx, f, p); err != nil {
		return err
	}
	// Set only the fields that the other sections use. The rest of an Installation describes the present build.
	b.in = &installation.Installation{Cluster: b.cluster}
	b.controllerURL = fmt.Sprintf("http://127.0.0.1:%d", p.controller)
	if hasFlag(f.controllerHelp, "allowed-cidrs") { // The flag exists since metrics require authorization.
		b.controllerURL = fmt.Sprintf("https://127.0.0.1:%d", p.controller)
	}
	kubeconfig, err := b.accountKubeconfig(installation.Controller)
	if err != nil {
		return err
	}
	b.in.Controller = b.cluster.AddProcess(installation.Controller, f.program(), f.controllerArgs(kubeconfig, p, controllerFlags)...)
	if kubeconfig, err = b.accountKubeconfig(installation.Serve); err != nil {
		return err
	}
	b.in.Serve = b.cluster.AddProcess(installation.Serve, f.program(), f.serveArgs(kubeconfig, p)...)
	for _, process := range []struct {
		*cluster.Process
		url string
	}{
		{b.in.Controller, b.controllerURL + "/readyz"},
		{b.in.Serve, fmt.Sprintf("https://127.0.0.1:%d/readyz", p.api)},
	} {
		if err := process.Start(); err != nil {
			return err
		}
		if err := process.WaitReady(ctx, func(ctx context.Context) error { return ready(ctx, process.url) }); err != nil {
			return err
		}
	}
	return b.waitForFormer(ctx)
}

// applyFormer applies the CustomResourceDefinitions, waits until the API server serves them, and applies the rest.
func (b *bench) applyFormer(ctx context.Context, f *former, p formerPorts) error {
	overlay := filepath.Join(f.dir, "overlay")
	if err := os.MkdirAll(overlay, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", overlay, err)
	}
	for name, content := range f.overlay("../manifests/base", p) {
		if err := os.WriteFile(filepath.Join(overlay, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the overlay of the former manifests: %w", err)
		}
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "-k", filepath.Join(f.dir, "manifests", "crds")},
		{
			"wait", "--for=condition=Established", "--timeout=1m",
			"crd/rotationconfigurations.config.certrotation.dev", "crd/rotationrecords.config.certrotation.dev",
		},
		{"apply", "--server-side=false", "-k", overlay},
	} {
		cmd := exec.CommandContext(ctx, b.cluster.Tool("kubectl"), append([]string{"--kubeconfig", b.cluster.Kubeconfig()}, args...)...)
		cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(b.cluster.Dir(), "kube-cache"))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, text)
		}
	}
	return nil
}

// accountKubeconfig has the rights of the ServiceAccount of a certrotation program.
func (b *bench) accountKubeconfig(program string) (string, error) {
	user := account(program)
	path, err := b.cluster.UserKubeconfig(user, "system:serviceaccounts", "system:serviceaccounts:"+installation.Namespace)
	if err != nil {
		return "", fmt.Errorf("make a kubeconfig for %s: %w", user, err)
	}
	return path, nil
}

// waitForFormer waits until kube-apiserver reaches the API and the webhook. The webhook fails closed until the
// controller has injected its CA bundle.
func (b *bench) waitForFormer(ctx context.Context) error {
	if err := b.waitForCertificates(ctx, 0); err != nil {
		return err
	}
	const namespace = "default"
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, last = b.rotations.ConfigV1alpha1().RotationConfigurations(namespace).Create(ctx, newDomain(namespace, "ECDSA-P256", 1).configuration(), dry)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the guard of the former build (see %s; the last answer was %w): %w", b.in.Serve.LogFile(), last, err)
	}
	return nil
}
