// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

const (
	// SampleNamespace is the namespace of manifests/samples/pods.
	SampleNamespace = "pods-demo"
	// StatsPort is where each program of the sample serves its counters, and /hold and /resume.
	StatsPort = 8080
	// totalsPort is a port of the nodes' gateway, which only this cluster uses.
	totalsPort = "8090"
	// SampleImage has the sample's program, and certrotation for the agent and for `certrotation wait`.
	SampleImage = "certrotation.dev/mtls-service:local"
	// environment is the ConfigMap with the environment of the sample's pods.
	environment = "environment"
)

// Workloads are the Deployments of the sample.
var Workloads = []string{"server", "client-a", "client-b"}

// image writes the archive that each node imports.
func (c *Cluster) image() (string, error) {
	archive := c.path("images", "mtls-service.tar")
	files := map[string]string{}
	for _, program := range []string{"mtls-service", "certrotation"} {
		files[program] = filepath.Join(c.root, "bin", program)
	}
	if _, err := nodes.WriteImage(archive, SampleImage, files, []string{"/mtls-service"}); err != nil {
		return "", fmt.Errorf("%w (`make build` builds what is missing)", err)
	}
	return archive, nil
}

// StatsURL returns the URL of the summed counters of all programs of the sample, also of ended ones.
func (c *Cluster) StatsURL() string {
	return "http://" + net.JoinHostPort(c.Network.Gateway().String(), totalsPort) + "/stats"
}

// InstallSample applies the sample and returns when its pods are available and every certificate is Ready.
func (c *Cluster) InstallSample(ctx context.Context) error {
	if err := c.startTotals(ctx); err != nil {
		return err
	}
	sample := filepath.Join(c.root, "manifests", "samples", "pods")
	// The namespace and the environment first: a pod keeps the environment that it starts with.
	if _, err := c.Kubectl(ctx, "apply", "-f", filepath.Join(sample, "namespace.yaml")); err != nil {
		return err
	}
	if err := c.ApplyEnvironment(ctx, SampleNamespace); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "apply", "-k", sample); err != nil {
		return err
	}
	if err := c.WaitReady(ctx, installation.Expected{installation.Namespace: 1, SampleNamespace: 4}); err != nil {
		return err
	}
	if err := c.WaitAvailable(ctx); err != nil {
		return err
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s runs in namespace %s\n", "samples/pods", SampleNamespace)
	return nil
}

func (c *Cluster) startTotals(ctx context.Context) error {
	address := net.JoinHostPort(c.Network.Gateway().String(), totalsPort)
	c.Totals = c.Installation.Cluster.AddProcess("totals", c.Binary("mtls-service"), "totals", "--listen="+address)
	if _, err := c.Totals.StartOrAdopt(ctx); err != nil {
		return err
	}
	return c.Totals.WaitReady(ctx, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("connect to the totals: %w", err)
		}
		return conn.Close()
	})
}

// ApplyEnvironment creates the ConfigMap with the addresses of kube-apiserver and the totals for the pods of a
// namespace.
func (c *Cluster) ApplyEnvironment(ctx context.Context, namespace string) error {
	values, err := c.PodEnvironment()
	if err != nil {
		return err
	}
	values["TOTALS_URL"] = c.StatsURL()
	_, err = c.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: environment},
		Data:       values,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write the environment of the pods of namespace %s: %w", namespace, err)
	}
	return nil
}

// WaitAvailable waits until the sample's Deployments match their specs.
func (c *Cluster) WaitAvailable(ctx context.Context) error {
	return c.waitDeployments(ctx, SampleNamespace, Workloads...)
}

func (c *Cluster) waitDeployments(ctx context.Context, namespace string, names ...string) error {
	return installation.WaitDeployments(ctx, c.Client, namespace, names...)
}
