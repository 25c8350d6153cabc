// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

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

	"certrotation.dev/test/cluster"
)

// Config says what to start and where. Only Dir is required.
type Config struct {
	// Dir holds everything about the nodes (see the package's comment). A new or empty directory makes new nodes; one that
	// was used before starts its nodes again, with their addresses and their disks.
	Dir string
	// BinDir holds the programs that `make node-tools` builds. Defaults to bin/tools of the repository around the working
	// directory.
	BinDir string
	// Kubernetes is the minor version of kubelet (see cluster.Config.Kubernetes). Empty is the newest.
	Kubernetes string
	// Detach leaves the nodes running when this process ends, and takes over those that run already.
	Detach bool
	// Names are the nodes to start now. None is fine: Add adds them.
	Names []string
	// Images are archives (see WriteImage) that each node imports. Pods use them with imagePullPolicy Never.
	Images []string
	// NameService has pods look up names at UDP port 53 of the Gateway, where somebody else answers. Without it they know none.
	NameService bool
	// Kubeconfig returns the file that the kubelet of a node reaches kube-apiserver with (see KubeconfigOf). The server
	// need not answer yet. Without it kubelets run the static pods of their files only, until Register.
	Kubeconfig func(node string) (path string, err error)
	// StartTimeout bounds Start and Add. Defaults to 2 minutes; three nodes take some seconds on an idle machine.
	StartTimeout time.Duration
	// Progress receives one line for each node that is ready. Defaults to nothing.
	Progress io.Writer
}

// Network is a set of nodes that reach each other and this machine.
type Network struct {
	cfg    Config
	claim  *claim
	number int

	mu         sync.Mutex
	nodes      []*Node
	kubeconfig func(node string) (string, error)
	starting   sync.Mutex // held while nodes are added or registered

	cutting sync.Mutex
	cuts    cutSet
}

// Start makes the network of cfg.Dir and starts its nodes. It returns when containerd and kubelet of each node are up; their
// static pods may still be starting. When it fails, nothing that it started is left running.
func Start(ctx context.Context, cfg Config) (*Network, error) {
	w, err := newNetwork(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare nodes in %s: %w", cfg.Dir, err)
	}
	err = makeBridge(w.number)
	if err == nil {
		err = w.Add(ctx, w.namesToStart()...)
	}
	if err != nil {
		if !w.cfg.Detach {
			err = errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
		}
		return nil, fmt.Errorf("start nodes in %s: %w", w.cfg.Dir, err)
	}
	if w.cfg.Detach {
		return w, w.claim.close()
	}
	return w, nil
}

func newNetwork(cfg Config) (*Network, error) {
	if cfg.Dir == "" {
		return nil, errors.New("Config.Dir is empty")
	}
	if err := Supported(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cfg.Dir = dir
	if cfg.BinDir == "" {
		root, err := cluster.RepositoryRoot()
		if err != nil {
			return nil, err
		}
		cfg.BinDir = filepath.Join(root, "bin", "tools")
	}
	if err := checkTools(&cfg); err != nil {
		return nil, err
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = 2 * time.Minute
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	c, err := takeClaim(dir, s.Number, cfg.Detach)
	if err != nil {
		return nil, err
	}
	w := &Network{cfg: cfg, claim: c, number: c.number, kubeconfig: cfg.Kubeconfig, cuts: cutSet{all: map[string]bool{}, pairs: map[[2]string]bool{}}}
	for name, host := range s.Nodes {
		w.nodes = append(w.nodes, newNode(w, name, host))
	}
	slices.SortFunc(w.nodes, func(a, b *Node) int { return a.host - b.host })
	return w, errors.Join(w.saveState(), w.writePauseImage())
}

func (w *Network) namesToStart() []string {
	var names []string
	for _, n := range w.Nodes() {
		names = append(names, n.name)
	}
	for _, name := range w.cfg.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Add starts nodes that are new, or that Dir knows from an earlier start, all at the same time.
func (w *Network) Add(ctx context.Context, names ...string) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, w.cfg.StartTimeout)
	defer cancel()
	var added []*Node
	for _, name := range names {
		n, err := w.addNode(name)
		if err != nil {
			return err
		}
		added = append(added, n)
	}
	if err := w.saveState(); err != nil {
		return err
	}
	return each(added, func(n *Node) error {
		begun := time.Now()
		if err := n.PowerOn(ctx); err != nil {
			return err
		}
		fmt.Fprintf(w.cfg.Progress, "%-24s %s ready after %.1f s\n", n.name, n.IP(), time.Since(begun).Seconds())
		return nil
	})
}

// addNode returns the node of that name, a new one when there is none.
func (w *Network) addNode(name string) (*Node, error) {
	if problems := nameProblems(name); problems != "" {
		return nil, fmt.Errorf("add node %q: %s", name, problems)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	host := firstHost
	for _, n := range w.nodes {
		if n.name == name {
			return n, nil
		}
		host = max(host, n.host+1)
	}
	if host > 254 {
		return nil, fmt.Errorf("add node %s: the network 10.%d.0.0/24 is full", name, w.number)
	}
	n := newNode(w, name, host)
	w.nodes = append(w.nodes, n)
	return n, nil
}

// Gateway is this machine's address in the network. What listens there is reached by every node.
func (w *Network) Gateway() net.IP { return gatewayOf(w.number) }

// Nodes are all nodes in the order in which they were added, running or not.
func (w *Network) Nodes() []*Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes)
}

// LogDirs are the directories in which the logs of the nodes and of their pods are, with a name for each.
func (w *Network) LogDirs() map[string]string {
	out := map[string]string{}
	for _, node := range w.Nodes() {
		out[filepath.Dir(node.LogFile("kubelet"))] = node.Name()
		out[node.Path("/var/log/pods")] = node.Name() + "-pods"
	}
	return out
}

// Node returns the node of that name, or nil.
func (w *Network) Node(name string) *Node {
	for _, n := range w.Nodes() {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Err tells of processes of the nodes that ended without having been asked to, each with the end of its log.
func (w *Network) Err() error {
	var errs []error
	for _, n := range w.Nodes() {
		errs = append(errs, n.Err())
	}
	return errors.Join(errs...)
}

// Stop ends kubelet and containerd of each node in order, and then the node with all that still runs in it; nothing of the
// network is left in the kernel. The directory, and so the disks of the nodes, stay. It may be called again.
func (w *Network) Stop(ctx context.Context) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	errs := []error{each(w.Nodes(), func(n *Node) error { return n.shutDown(ctx) })}
	errs = append(errs, removeLeftovers(w.number), w.claim.release())
	return errors.Join(errs...)
}

// each calls do for all nodes at the same time, and waits for all.
func each(nodes []*Node, do func(*Node) error) error {
	errs := make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() {
			if err := do(n); err != nil {
				errs[i] = fmt.Errorf("node %s: %w", n.name, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
