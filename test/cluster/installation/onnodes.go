// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"certrotation.dev/test/cluster"
)

// APIServerFlags make kube-apiserver connect to a Service's endpoints, because the Service's address does not answer.
var APIServerFlags = []string{"--enable-aggregator-routing=true"}

// ControllerManagerFlags enable the controllers of workloads, endpoints, volumes and nodes, in addition to package
// cluster's.
var ControllerManagerFlags = []string{
	"--controllers=namespace-controller,garbage-collector-controller,resourcequota-controller,serviceaccount-controller," +
		"serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller," +
		"deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,endpointslice-controller," +
		"disruption-controller,node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller," +
		"persistentvolume-binder-controller,persistentvolume-protection-controller,persistentvolumeclaim-protection-controller",
	"--node-monitor-grace-period=20s",
}

// scheduler is the name of both the process and the program.
const scheduler = "kube-scheduler"

// Image returns certrotation's image that `make local-image` built: its name by digest, and the archive for the
// nodes.
func Image() (name, archive string, err error) {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return "", "", fmt.Errorf("find the repository: %w", err)
	}
	dir := filepath.Join(root, "bin", "image-local")
	digest, err := os.ReadFile(filepath.Join(dir, "digest"))
	if err != nil {
		return "", "", fmt.Errorf("%w (`make local-image` builds the image)", err)
	}
	return "certrotation.dev/certrotation@" + strings.TrimSpace(string(digest)), filepath.Join(dir, "certrotation.tar"), nil
}

// StartScheduler starts kube-scheduler, which places pods on nodes.
func (in *Installation) StartScheduler(ctx context.Context) (*cluster.Process, error) {
	port, err := in.Port(scheduler)
	if err != nil {
		return nil, err
	}
	kubeconfig := in.Cluster.Kubeconfig()
	p := in.Cluster.AddProcess(scheduler, in.Cluster.Tool(scheduler),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
	)
	if _, err := p.StartOrAdopt(ctx); err != nil {
		return nil, fmt.Errorf("%w (`make node-tools` builds it)", err)
	}
	return p, p.WaitReady(ctx, func(ctx context.Context) error {
		_, err := Scrape(ctx, in.Cluster.AdminConfig(), fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
		return err
	})
}

// PodEnvironment returns the environment with which a pod finds kube-apiserver. It is needed because the address of
// the Service kubernetes does not answer. A pod's own environment overrides kubelet's variables for Services.
func (in *Installation) PodEnvironment() (map[string]string, error) {
	server, err := url.Parse(in.Cluster.URL())
	if err != nil {
		return nil, fmt.Errorf("find kube-apiserver: %w", err)
	}
	return map[string]string{"KUBERNETES_SERVICE_HOST": server.Hostname(), "KUBERNETES_SERVICE_PORT": server.Port()}, nil
}

// InstallOnNodes installs certrotation as pods of nodes that have its Image, as docs/install.md says.
func (in *Installation) InstallOnNodes(ctx context.Context) (*Stranger, error) {
	environment, err := in.PodEnvironment()
	if err != nil {
		return nil, err
	}
	s, err := in.NewStranger(environment)
	if err != nil {
		return nil, err
	}
	if err := s.InstallPods(ctx, WithKubectl); err != nil {
		return nil, fmt.Errorf("install certrotation: %w", err)
	}
	return s, nil
}
