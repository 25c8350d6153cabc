// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// HostedNamespaces are the namespaces with a hosted control plane each: manifests/samples/hosted-etcd.
var HostedNamespaces = []string{"hosted-a", "hosted-b"}

const (
	guardedOverlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: %[1]s
resources:
- namespace.yaml
- %[2]s
`
	guardedNamespace = `apiVersion: v1
kind: Namespace
metadata:
  name: %s
  labels: {certrotation.dev/managed: "true", certrotation.dev/guard: enabled}
`
	// hostedWorkloads sets the current content hashes.
	hostedWorkloads = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: %[1]s
resources:
- %[2]s
patches:
- target: {kind: StatefulSet|Deployment}
  patch: |-
    - {op: replace, path: /spec/template/metadata/annotations/configmap.content.certrotation.dev~1etcd-ca-bundle, value: %[3]s}
- target: {kind: StatefulSet}
  patch: |-
    - {op: replace, path: /spec/template/metadata/annotations/configmap.content.certrotation.dev~1etcd-peer-ca-bundle, value: %[4]s}
- target: {kind: Deployment}
  patch: |-
    - {op: replace, path: /spec/template/metadata/annotations/secret.content.certrotation.dev~1etcd-client, value: %[5]s}
`
)

// InstallHosted runs a hosted control plane in each of HostedNamespaces. Once they are available, it starts programs
// that write through their API servers. They count in InstallSample's totals.
func (c *Cluster) InstallHosted(ctx context.Context) error {
	if err := c.importHosted(ctx); err != nil {
		return err
	}
	expected := installation.Expected{}
	for _, namespace := range HostedNamespaces {
		if err := c.prepareHosted(ctx, namespace); err != nil {
			return fmt.Errorf("prepare %s: %w", namespace, err)
		}
		expected[namespace] = 5
	}
	if err := c.WaitReady(ctx, expected); err != nil {
		return err
	}
	for _, namespace := range HostedNamespaces {
		if err := c.runHosted(ctx, namespace); err != nil {
			return fmt.Errorf("run %s: %w", namespace, err)
		}
	}
	if err := c.WaitHosted(ctx); err != nil {
		return err
	}
	for _, namespace := range HostedNamespaces {
		if err := c.startWitness(ctx, Writer(namespace), "writer", namespace, "--pki="+c.hostedPKI(namespace)); err != nil {
			return err
		}
		fmt.Fprintf(c.cfg.Progress, "%-24s runs in namespace %s\n", "samples/hosted-etcd", namespace)
	}
	return nil
}

func (c *Cluster) importHosted(ctx context.Context) error {
	for _, program := range []string{cluster.Etcd, cluster.APIServer} {
		if err := c.importProgram(ctx, c.Installation.Cluster.Tool(program), "certrotation.dev/"+program+":local"); err != nil {
			return err
		}
	}
	return nil
}

// importProgram makes an image of a program, and imports it on each node.
func (c *Cluster) importProgram(ctx context.Context, program, image string) error {
	name := filepath.Base(program)
	archive := c.path("images", name+".tar")
	if _, err := nodes.WriteImage(archive, image, map[string]string{name: program}, []string{"/" + name}); err != nil {
		return fmt.Errorf("%w (`make tools build` builds what is missing)", err)
	}
	return c.Network.Import(ctx, archive)
}

// applyGuarded applies a directory of the repository to a namespace of its own.
func (c *Cluster) applyGuarded(ctx context.Context, namespace, sample string) error {
	dir := filepath.Join(c.Installation.Cluster.Dir(), "manifests", namespace)
	relative, err := c.Relative(dir, sample)
	if err != nil {
		return err
	}
	return c.ApplyOverlay(ctx, dir, map[string]string{
		"kustomization.yaml": fmt.Sprintf(guardedOverlay, namespace, relative), "namespace.yaml": fmt.Sprintf(guardedNamespace, namespace),
	})
}

func (c *Cluster) prepareHosted(ctx context.Context, namespace string) error {
	if err := c.applyGuarded(ctx, namespace, "manifests/samples/hosted-etcd"); err != nil {
		return err
	}
	if err := c.makeHostedPKI(ctx, namespace); err != nil {
		return err
	}
	return c.makeVolumes(ctx, namespace)
}

// runHosted applies the workloads with the content hashes that they start with.
func (c *Cluster) runHosted(ctx context.Context, namespace string) error {
	bundle, err := c.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "etcd-ca-bundle", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	peers, err := c.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "etcd-peer-ca-bundle", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the bundle of the peers: %w", err)
	}
	leaf, err := c.Client.CoreV1().Secrets(namespace).Get(ctx, "etcd-client", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the leaf: %w", err)
	}
	dir := filepath.Join(c.Installation.Cluster.Dir(), "manifests", namespace+"-workloads")
	sample, err := c.Relative(dir, "manifests/samples/hosted-etcd/workloads")
	if err != nil {
		return err
	}
	return c.ApplyOverlay(ctx, dir, map[string]string{"kustomization.yaml": fmt.Sprintf(hostedWorkloads, namespace, sample,
		contenthash.OfConfigMap(bundle), contenthash.OfConfigMap(peers), contenthash.OfSecret(leaf))})
}

// WaitHosted waits until all pods of the hosted control planes are available.
func (c *Cluster) WaitHosted(ctx context.Context) error {
	for _, namespace := range HostedNamespaces {
		err := cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, func(ctx context.Context) error {
			etcd, err := c.Client.AppsV1().StatefulSets(namespace).Get(ctx, "etcd", metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("get etcd: %w", err)
			}
			want := *etcd.Spec.Replicas
			if s := etcd.Status; s.ObservedGeneration < etcd.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want {
				return fmt.Errorf("of etcd in %s %d of %d pods are available, %d updated", namespace, s.AvailableReplicas, want, s.UpdatedReplicas)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := c.waitDeployments(ctx, namespace, cluster.APIServer); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) hostedPKI(namespace string) string { return c.path("hosted", namespace) }

// hostedFiles are the files of package cluster's PKI that a kube-apiserver uses.
var hostedFiles = []string{"apiserver.crt", "apiserver.key", "ca.crt", "service-accounts.pub", "service-accounts.key"}

// readHostedPKI makes and reads the certificates that certrotation does not rotate.
func (c *Cluster) readHostedPKI(namespace string) (map[string][]byte, error) {
	dir := c.hostedPKI(namespace)
	if err := cluster.MakePKI(dir); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	out := map[string][]byte{}
	for _, file := range hostedFiles {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		out[file] = content
	}
	return out, nil
}
