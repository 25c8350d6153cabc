// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/kubernetes"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// Namespace is the namespace of etcd's certificates.
const Namespace = "openshift-etcd"

// controlPlaneLabel is on the nodes that run etcd.
const controlPlaneLabel = "node-role.kubernetes.io/master"

// Config says what to start and where.
type Config struct {
	// Dir holds everything; see the package comment.
	Dir string
	// Detach leaves everything running when this process ends, and adopts what already runs.
	Detach bool
	// Members are the names of the nodes. Defaults to master-0, master-1 and master-2.
	Members []string
	// Configure changes the sample's configuration, which is expanded before. Defaults to the sample as it is.
	Configure func(*configv1alpha1.RotationConfigurationSpec)
	// Pods runs certrotation as pods of the nodes, by docs/install.md. Without it, tests can kill or pause its
	// processes.
	Pods bool
	// ControllerFlags follow the default flags. Without Pods only.
	ControllerFlags []string
	// SupervisorFlags follow the default flags of the kube-apiservers' supervisor.
	SupervisorFlags []string
	// Progress receives one line for each step. Defaults to nothing.
	Progress io.Writer
}

// Cluster is a running control plane with stacked etcd and certrotation.
type Cluster struct {
	*installation.Installation
	Network *nodes.Network
	// Client has every right.
	Client kubernetes.Interface
	// Supervisor runs the kube-apiservers, Scraper reads the metrics of etcd.
	Supervisor, Scraper *cluster.Process

	cfg  Config
	root string
	// image is certrotation's image by digest.
	image string

	mu   sync.Mutex
	left []string // Names of nodes that left.
}

// Start starts everything and returns when certrotation serves. If it fails, it stops what it started, unless
// Config.Detach is set.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	if len(cfg.Members) == 0 {
		cfg.Members = []string{"master-0", "master-1", "master-2"}
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	c := &Cluster{cfg: cfg, root: root}
	if err := c.start(ctx); err != nil {
		if !cfg.Detach {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.startNodes(ctx); err != nil {
		return err
	}
	plane, err := cluster.Prepare(ctx, cluster.Config{
		Dir: c.cfg.Dir, Detach: c.cfg.Detach, ControllerManager: true, Progress: c.cfg.Progress,
		Address: c.Network.Gateway().String(), ExternalURL: c.apiURL(), ControllerManagerFlags: c.controllerManagerFlags(),
	})
	if err != nil {
		return err
	}
	if c.Installation, err = installation.Prepare(plane, installation.Config{Progress: c.cfg.Progress, ControllerFlags: c.cfg.ControllerFlags}); err != nil {
		return err
	}
	if err := c.bootstrapEtcd(ctx); err != nil {
		return fmt.Errorf("bootstrap etcd: %w", err)
	}
	if err := c.startSupervisor(ctx, plane); err != nil {
		return fmt.Errorf("start the kube-apiservers: %w", err)
	}
	if err := plane.Start(ctx); err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfig(plane.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := c.register(ctx, plane); err != nil {
		return err
	}
	if err := c.applyRendered(ctx); err != nil {
		return fmt.Errorf("apply what was rendered: %w", err)
	}
	if err := c.install(ctx); err != nil {
		return fmt.Errorf("install certrotation: %w", err)
	}
	return c.startScraper(ctx)
}

func (c *Cluster) install(ctx context.Context) error {
	if !c.cfg.Pods {
		return c.Install(ctx)
	}
	if _, err := c.StartScheduler(ctx); err != nil {
		return err
	}
	_, err := c.InstallOnNodes(ctx)
	return err
}

// controllerManagerFlags enable the controllers that nodes need, in addition to package cluster's.
func (c *Cluster) controllerManagerFlags() []string {
	if c.cfg.Pods {
		return installation.ControllerManagerFlags
	}
	return []string{
		"--controllers=namespace-controller,garbage-collector-controller,resourcequota-controller,serviceaccount-controller," +
			"serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller," +
			"node-lifecycle-controller,pod-garbage-collector-controller",
		"--node-monitor-grace-period=20s",
	}
}

func (c *Cluster) startNodes(ctx context.Context) error {
	images, err := c.images()
	if err != nil {
		return err
	}
	c.Network, err = nodes.Start(ctx, nodes.Config{
		Dir: c.path("nodes"), Detach: c.cfg.Detach, Names: c.cfg.Members, Images: images, Progress: c.cfg.Progress,
	})
	return err
}

// register lets the kubelets join the API. Until then they run only static pods.
func (c *Cluster) register(ctx context.Context, plane *cluster.Cluster) error {
	if err := c.Network.Register(ctx, nodes.KubeconfigOf(plane)); err != nil {
		return err
	}
	for _, node := range c.Network.Nodes() {
		if err := node.Label(ctx, c.Client, map[string]string{controlPlaneLabel: ""}); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s %d nodes are registered\n", "nodes", len(c.Network.Nodes()))
	return nil
}

// Stop ends everything; the directory stays.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	if c.Installation != nil {
		errs = append(errs, c.Installation.Cluster.Stop(ctx))
	}
	if c.Network != nil {
		errs = append(errs, c.Network.Stop(ctx))
	}
	return errors.Join(errs...)
}

// StopDir stops everything that a detached Start left running in dir.
func StopDir(ctx context.Context, dir string, progress io.Writer) error {
	if err := cluster.StopDir(ctx, dir, progress); err != nil {
		return err
	}
	return nodes.StopDir(ctx, filepath.Join(dir, "nodes"), progress)
}

func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.cfg.Dir}, elem...)...)
}

// binary returns the path of one of this repository's programs.
func (c *Cluster) binary(name string) string { return filepath.Join(c.root, "bin", name) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
