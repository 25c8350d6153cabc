// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Names of the control plane's processes, and so of their pid files and logs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// Config says what to start and where. Only Dir is required.
type Config struct {
	// Dir holds everything about this cluster (see the package's comment). A new or empty directory makes a new cluster.
	Dir string
	// BinDir holds the programs that `make tools` builds. Defaults to bin/tools of the repository around the working
	// directory.
	BinDir string
	// Kubernetes is the minor version, such as 1.34, whose programs run: `hack/build-tools.sh kubernetes-1.34` builds them.
	// Empty is the newest, that of `make tools`. etcd is always that one's.
	Kubernetes string
	// Detach leaves the processes running when this one ends, and takes over those that run already.
	Detach bool
	// ControllerManager runs kube-controller-manager with the controllers that are useful without nodes. Without it
	// namespaces are never finalized and have no ServiceAccounts, tokens or root CA ConfigMap.
	ControllerManager bool
	// Durable lets etcd wait for the disk, as in production. Set it where a write rate is measured.
	Durable bool
	// Address is the IP address that kube-apiserver listens on. Defaults to 127.0.0.1; the nodes of package nodes reach
	// their gateway's. It has to stay the same for as long as Dir is used.
	Address string
	// ExternalURL is where somebody else serves kube-apiserver with the certificates of pki/ (MakePKI, APIServerFlags). Then
	// neither etcd nor kube-apiserver is started here.
	ExternalURL string
	// Balanced puts a balancer before kube-apiserver, so that RestartAPIServer fails no request. It is part of this process, so not
	// with Detach, and it needs an Address whose ports nobody else takes.
	Balanced bool
	// EtcdFlags, APIServerFlags and ControllerManagerFlags are put behind our own; of a flag given twice the last one wins.
	EtcdFlags, APIServerFlags, ControllerManagerFlags []string
	// StartTimeout bounds Start as a whole. Defaults to 3 minutes; a start takes about 5 s on an idle machine.
	StartTimeout time.Duration
	// Progress receives one line for each process that is ready. Defaults to nothing.
	Progress io.Writer
}

// Cluster is a running control plane.
type Cluster struct {
	cfg         Config
	certs       *certificates
	ports       ports
	etcd        *Process
	apiServer   *Process
	controllers *Process  // nil without Config.ControllerManager
	balanced    *balanced // nil without Config.Balanced

	mu     sync.Mutex
	others []*Process // Programs added by AddProcess, in order.
}

// Start starts a control plane and returns when it serves: every post start hook of kube-apiserver is done, the default
// namespace exists and, with the controller manager, its ServiceAccount too. When it fails, nothing that it started is
// left running; its error names the step, the log and its last lines.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c, err := Prepare(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Prepare makes the directory of a control plane with its certificates; nothing is started. Kubeconfigs can be made, which
// work once something serves.
func Prepare(ctx context.Context, cfg Config) (*Cluster, error) {
	c, err := newCluster(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare a control plane in %s: %w", cfg.Dir, err)
	}
	unlock, err := lock(ctx, c.cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.certs, err = loadOrMakeCertificates(filepath.Join(c.cfg.Dir, "pki"), net.ParseIP(c.cfg.Address)); err != nil {
		return nil, fmt.Errorf("make the control plane's certificates: %w", err)
	}
	if c.ports, err = loadPorts(c.cfg.Dir); err != nil {
		return nil, err
	}
	return c, nil
}

// Start starts what was prepared; see the function Start.
func (c *Cluster) Start(ctx context.Context) error {
	unlock, err := lock(ctx, c.cfg.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	if err := c.startAll(ctx); err != nil {
		// In a detached cluster, what ran before and what became ready stays: the next Start goes on from there.
		if !c.cfg.Detach {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		return fmt.Errorf("start a control plane in %s: %w", c.cfg.Dir, err)
	}
	return nil
}

func newCluster(cfg Config) (*Cluster, error) {
	if cfg.Dir == "" {
		return nil, errors.New("Config.Dir is empty")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cfg.Dir = dir
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return nil, err
	}
	if cfg.BinDir == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return nil, err
		}
		cfg.BinDir = filepath.Join(root, "bin", "tools")
	}
	if err := checkTools(&cfg); err != nil {
		return nil, err
	}
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1"
	}
	if net.ParseIP(cfg.Address) == nil {
		return nil, fmt.Errorf("Config.Address %q is not an IP address", cfg.Address)
	}
	if cfg.Balanced && cfg.Detach {
		return nil, errors.New("Config.Balanced and Config.Detach exclude each other: the balancer is part of this process")
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = 3 * time.Minute
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	return &Cluster{cfg: cfg}, nil
}

func (c *Cluster) startAll(ctx context.Context) error {
	if err := c.startStorageAndServer(ctx); err != nil {
		return err
	}
	// Only now: a start that lost its port moved to another one.
	if err := c.writeKubeconfig(c.Kubeconfig(), c.AdminConfig()); err != nil {
		return err
	}
	if !c.cfg.ControllerManager {
		return nil
	}
	var err error
	c.controllers, err = c.startOne(ctx, ControllerManager, c.controllerManagerArgs, c.controllerManagerReady)
	return err
}

// startStorageAndServer starts etcd and kube-apiserver, or waits for those that somebody else runs.
func (c *Cluster) startStorageAndServer(ctx context.Context) error {
	if c.cfg.ExternalURL != "" {
		return Until(ctx, pollInterval, checkTimeout, c.apiServerReady)
	}
	var err error
	if c.etcd, err = c.startOne(ctx, Etcd, c.etcdArgs, c.etcdReady); err != nil {
		return err
	}
	if c.cfg.Balanced {
		if err := c.startBalancer(ctx); err != nil {
			return err
		}
	}
	c.apiServer, err = c.startOne(ctx, APIServer, c.apiServerArgs, c.apiServerReady)
	return err
}

// Stop ends the programs of AddProcess, newest first, and then the control plane, each by SIGTERM and, where that does not
// help, SIGKILL. The directory stays. It may be called again.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	if c.balanced != nil {
		c.balanced.refuse()
		defer c.balanced.CloseConnections()
	}
	for _, p := range slices.Backward(c.processes()) {
		errs = append(errs, p.Stop(ctx))
	}
	return errors.Join(errs...)
}

// Err tells of the processes that ended without having been asked to, each with the end of its log; nil when there is none.
func (c *Cluster) Err() error {
	var errs []error
	for _, p := range c.processes() {
		errs = append(errs, p.Err())
	}
	return errors.Join(errs...)
}

// AddProcess makes a Process for another program in this cluster's directory. It ends with the cluster, like the control
// plane's own, before them; starting it is the caller's.
func (c *Cluster) AddProcess(name, path string, args ...string) *Process {
	p := NewProcess(ProcessConfig{Name: name, Path: path, Args: args, Dir: c.cfg.Dir, Detach: c.cfg.Detach})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others = append(c.others, p)
	return p
}

// Process returns the process of that name (Etcd, APIServer, ControllerManager, or one of AddProcess), or nil.
func (c *Cluster) Process(name string) *Process {
	for _, p := range c.processes() {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// processes is every process in the order of their start.
func (c *Cluster) processes() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := slices.DeleteFunc([]*Process{c.etcd, c.apiServer, c.controllers}, func(p *Process) bool { return p == nil })
	return append(own, c.others...)
}
