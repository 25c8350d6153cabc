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
	// Dir holds everything about the nodes (see the package comment). A new or empty directory makes new nodes. A
	// used one starts its nodes again, with their addresses and disks.
	Dir string
	// BinDir holds the programs that `make node-tools` builds. Defaults to bin/tools of the repository around the working
	// directory.
	BinDir string
	// Kubernetes is the minor version of kubelet (see cluster.Config.Kubernetes). Empty means the newest.
	Kubernetes string
	// Detach leaves the nodes running when this process ends, and adopts those that already run.
	Detach bool
	// Names are the nodes to start now; Add starts more. It may be empty.
	Names []string
	// Images are archives (see WriteImage) that each node imports. Pods use them with imagePullPolicy Never.
	Images []string
	// NameService makes pods look up names at UDP port 53 of the Gateway. The caller runs a name server there.
	// Without it pods look up no names.
	NameService bool
	// Kubeconfig returns the file with which the kubelet of a node reaches kube-apiserver (see KubeconfigOf). The
	// server need not answer yet. Without Kubeconfig, kubelets run only static pods until Register.
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
	starting   sync.Mutex // Held while nodes are added or registered.

	cutting sync.Mutex
	cuts    cutSet
}

// Start makes the network of cfg.Dir and starts its nodes. It returns when containerd and kubelet of each node are
// up; static pods may still be starting. If it fails, it stops what it started.
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

// Add starts nodes, all at the same time. They are new, or Dir knows them from an earlier start.
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

// addNode returns the named node, a new one if there is none.
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

// Gateway returns this machine's address in the network. Every node reaches what listens there.
func (w *Network) Gateway() net.IP { return gatewayOf(w.number) }

// Nodes returns all nodes, running or not, in the order in which they were added.
func (w *Network) Nodes() []*Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes)
}

// LogDirs returns the log directories of the nodes and of their pods, with a name for each.
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

// Err returns an error for the nodes' processes that ended without a request, each with the end of its log.
func (w *Network) Err() error {
	var errs []error
	for _, n := range w.Nodes() {
		errs = append(errs, n.Err())
	}
	return errors.Join(errs...)
}

// Stop stops kubelet and containerd of each node in order, and then the node with all that still runs in it. It
// removes the network from the kernel. The directory stays, with the disks of the nodes. Stop may be called again.
func (w *Network) Stop(ctx context.Context) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	errs := []error{each(w.Nodes(), func(n *Node) error { return n.shutDown(ctx) })}
	errs = append(errs, removeLeftovers(w.number), w.claim.release())
	return errors.Join(errs...)
}

// each calls do for all nodes at the same time, and waits for all calls.
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
