// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// Config says what to start and where.
type Config struct {
	// Dir holds everything; see the package comment.
	Dir string
	// Detach leaves everything running when this process ends, and adopts what already runs.
	Detach bool
	// Nodes are the names of the nodes. Defaults to worker-0, worker-1 and worker-2.
	Nodes []string
	// Kubernetes is the minor version (see cluster.Config.Kubernetes). Empty means the newest.
	Kubernetes string
	// APIServerFlags follow the default flags.
	APIServerFlags []string
	// Progress receives one line for each step. Defaults to nothing.
	Progress io.Writer
}

// Cluster is a running control plane with nodes, and certrotation.
type Cluster struct {
	*installation.Installation
	Network *nodes.Network
	// Client has every right.
	Client kubernetes.Interface
	// Image is certrotation's image by digest.
	Image string
	// Stranger installed certrotation.
	Stranger *installation.Stranger
	// Scheduler places the pods. Totals sums the counters of the samples.
	Scheduler, Totals *cluster.Process

	cfg  Config
	root string
	// witnesses use the samples and count. They run on this machine, so that they survive a node.
	witnesses map[string]*witness
}

// Start starts everything and returns when the nodes are Ready and certrotation serves. If it fails, it stops what it
// started, unless Config.Detach is set.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	if len(cfg.Nodes) == 0 {
		cfg.Nodes = []string{"worker-0", "worker-1", "worker-2"}
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	c := &Cluster{cfg: cfg, root: root, witnesses: map[string]*witness{}}
	if err := c.start(ctx); err != nil {
		if !cfg.Detach {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	sample, err := c.image()
	if err != nil {
		return err
	}
	var certrotation string
	if c.Image, certrotation, err = installation.Image(); err != nil {
		return err
	}
	// No node yet: this gives the address at which nodes find kube-apiserver.
	c.Network, err = nodes.Start(ctx, nodes.Config{
		Dir: c.path("nodes"), Kubernetes: c.cfg.Kubernetes, Detach: c.cfg.Detach, Images: []string{sample, certrotation},
		NameService: true, Progress: c.cfg.Progress,
	})
	if err != nil {
		return err
	}
	plane, err := cluster.Prepare(ctx, cluster.Config{
		Dir: c.cfg.Dir, Kubernetes: c.cfg.Kubernetes, Detach: c.cfg.Detach, Balanced: !c.cfg.Detach, ControllerManager: true, Progress: c.cfg.Progress,
		Address: c.Network.Gateway().String(), ControllerManagerFlags: installation.ControllerManagerFlags,
		APIServerFlags: slices.Concat(installation.APIServerFlags, c.cfg.APIServerFlags),
	})
	if err != nil {
		return err
	}
	if c.Installation, err = installation.Prepare(plane, installation.Config{Progress: c.cfg.Progress}); err != nil {
		return err
	}
	if err := plane.Start(ctx); err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfig(plane.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if c.Scheduler, err = c.StartScheduler(ctx); err != nil {
		return err
	}
	if err := c.startNameServer(ctx); err != nil {
		return err
	}
	if err := c.Network.Register(ctx, nodes.KubeconfigOf(plane)); err != nil {
		return err
	}
	if err := c.Join(ctx, c.cfg.Nodes...); err != nil {
		return err
	}
	c.Stranger, err = c.InstallOnNodes(ctx)
	return err
}

// Join starts nodes and returns when pods can be placed on them.
func (c *Cluster) Join(ctx context.Context, names ...string) error {
	if err := c.Network.Add(ctx, names...); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.Network.Node(name).WaitReady(ctx, c.Client); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s %d nodes are Ready\n", "nodes", len(names))
	return nil
}

// Stop ends everything; the directory stays.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	if c.Network != nil {
		errs = append(errs, c.Network.StopKubelets(ctx))
	}
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
