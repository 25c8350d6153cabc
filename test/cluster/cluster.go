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

// Names of the control plane's processes, pid files and logs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// Config says what to start and where. Only Dir is required.
type Config struct {
	// Dir holds everything about this cluster (see the package comment). A new or empty directory makes a new
	// cluster.
	Dir string
	// BinDir holds the programs that `make tools` builds. Defaults to bin/tools of the repository around the working
	// directory.
	BinDir string
	// Kubernetes is the minor version of the programs that run, such as 1.34. `hack/build-tools.sh kubernetes-1.34`
	// builds them. Empty means the newest, which `make tools` builds. etcd is always the newest.
	Kubernetes string
	// Detach leaves the processes running when this process ends, and adopts those that already run.
	Detach bool
	// ControllerManager runs kube-controller-manager with the controllers that are useful without nodes. Without it
	// namespaces are never finalized and have no ServiceAccounts, tokens or root CA ConfigMap.
	ControllerManager bool
	// Durable makes etcd wait for the disk, as in production. Set it to measure a write rate.
	Durable bool
	// Address is the IP address that kube-apiserver listens on. Defaults to 127.0.0.1; nodes of package nodes connect
	// to their gateway's address. It must stay the same as long as Dir is used.
	Address string
	// ExternalURL is the address of a kube-apiserver that another program runs, with the certificates of pki/
	// (MakePKI, APIServerFlags). Start then starts neither etcd nor kube-apiserver.
	ExternalURL string
	// Balanced puts a balancer in front of kube-apiserver, so that RestartAPIServer fails no request. The balancer is
	// part of this process, so Detach is not possible. It needs an Address whose ports no other program takes.
	Balanced bool
	// EtcdFlags, APIServerFlags and ControllerManagerFlags follow the default flags. The last value of a flag wins.
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
	others []*Process // Added by AddProcess, in order.
}

// Start starts a control plane and returns when it serves: every post-start hook of kube-apiserver is done and the
// default namespace exists. With the controller manager, its ServiceAccount exists too. If Start fails without
// Detach, it stops what it started. The error names the step, the log and its last lines.
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

// Prepare makes the directory of a control plane with its certificates and starts nothing. Kubeconfigs can be made
// before Start; they work once kube-apiserver serves.
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

// Start starts a prepared cluster; see the function Start.
func (c *Cluster) Start(ctx context.Context) error {
	unlock, err := lock(ctx, c.cfg.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	if err := c.startAll(ctx); err != nil {
		// A detached cluster keeps what already ran and what became ready. The next Start continues from there.
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
	// Not earlier: a process that lost its port to another program has moved to a new one.
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

// startStorageAndServer starts etcd and kube-apiserver, or waits for the server at ExternalURL.
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

// Stop ends the programs of AddProcess, newest first, and then the control plane. Each gets SIGTERM and, if it does
// not end in time, SIGKILL. The directory stays. Stop may be called again.
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

// Err returns an error for the processes that ended without a request, each with the end of its log.
func (c *Cluster) Err() error {
	var errs []error
	for _, p := range c.processes() {
		errs = append(errs, p.Err())
	}
	return errors.Join(errs...)
}

// AddProcess returns a Process for another program in this cluster's directory. The caller starts it. Stop ends it
// before the control plane.
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

// processes returns every process in start order.
func (c *Cluster) processes() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := slices.DeleteFunc([]*Process{c.etcd, c.apiServer, c.controllers}, func(p *Process) bool { return p == nil })
	return append(own, c.others...)
}
