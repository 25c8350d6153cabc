// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"certrotation.dev/test/cluster"
)

// toolsInNode is the path of Config.BinDir in a node.
const toolsInNode = "/opt/node/bin"

// Node is one machine of the network. Its methods may be called from several goroutines. Methods that start or stop
// something wait for each other.
type Node struct {
	network *Network
	name    string
	host    int    // The last octet of its address.
	dir     string // Process records and logs; root/ is its file system.

	mu         sync.Mutex
	init       *cluster.Process // Process 1 of the node: all others end with it.
	containerd *cluster.Process // Nil before the first start.
	kubelet    *cluster.Process
	noKubelet  bool // StopKubelet was called.

	cutFrom []string // The nodes that this node's neighbor table hides. Guarded by network.cutting.
}

func newNode(w *Network, name string, host int) *Node {
	n := &Node{network: w, name: name, host: host, dir: filepath.Join(w.cfg.Dir, name)}
	n.init = cluster.NewProcess(n.initConfig())
	return n
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// IP returns the node's address.
func (n *Node) IP() net.IP { return addressOf(n.network.number, n.host) }

// Path returns where this machine finds a path of the node's disk. A node's /run and /tmp are in memory, and not on
// the disk.
func (n *Node) Path(inNode string) string { return filepath.Join(n.dir, "root", inNode) }

// LogFile returns the path of the log of a process of this node: kubelet, containerd or init.
func (n *Node) LogFile(process string) string { return filepath.Join(n.dir, "logs", process+".log") }

// Running reports whether the node has power.
func (n *Node) Running() bool { return n.init.Running() }

// Err returns an error for the processes that ended without a request.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for _, p := range []*cluster.Process{n.init, n.containerd, n.kubelet} {
		if p == nil {
			continue
		}
		if err := p.Err(); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n.name, err))
		}
	}
	return errors.Join(errs...)
}

// Dial connects to an address from the node's network, with the node's address.
func (n *Node) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !n.Running() {
		return nil, fmt.Errorf("dial %s from node %s: the node is off", address, n.name)
	}
	return dialFrom(ctx, fmt.Sprintf("/proc/%d/ns/net", n.init.Pid()), network, address)
}

// Command returns a command that runs inside the node: in its namespaces and on its file system. The end of the
// context kills it.
func (n *Node) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.network.tool("nodeinit"), append([]string{"enter", strconv.Itoa(n.init.Pid())}, argv...)...)
	cmd.Env = append(os.Environ(), environment()...)
	return cmd
}

// Exec runs a command inside the node and returns its output. The error of a failed command also has the output.
func (n *Node) Exec(ctx context.Context, argv ...string) (string, error) {
	if !n.Running() {
		return "", fmt.Errorf("run %s in node %s: the node is off", strings.Join(argv, " "), n.name)
	}
	out, err := n.Command(ctx, argv...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("run %s in node %s: %w: %s", strings.Join(argv, " "), n.name, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

func (w *Network) tool(name string) string { return filepath.Join(w.cfg.BinDir, name) }

// environment returns what the environment of processes in a node adds to this machine's. They use no proxy.
func environment() []string {
	return []string{
		"PATH=" + toolsInNode + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"NO_PROXY=*", "no_proxy=*",
		// Kubelet and containerd of three nodes on a small machine mostly wake each other up, which takes a sixth of
		// a test's CPU time.
		"GOMAXPROCS=1",
	}
}

// process returns a program that runs inside the node, at most as long as the node's init.
func (n *Node) process(name string, args ...string) *cluster.Process {
	return cluster.NewProcess(cluster.ProcessConfig{
		Name: name, Path: n.network.tool("nodeinit"),
		Args: append([]string{"enter", strconv.Itoa(n.init.Pid()), path.Join(toolsInNode, cluster.ToolPath(n.network.cfg.Kubernetes, name))}, args...),
		Env:  environment(), Dir: n.dir, Detach: n.network.cfg.Detach,
	})
}

// launch starts p, or adopts the process that a detached network left running.
func (n *Node) launch(ctx context.Context, p *cluster.Process) (adopted bool, err error) {
	if p.Running() {
		return true, nil
	}
	if n.network.cfg.Detach {
		return p.StartOrAdopt(ctx)
	}
	return false, p.Start()
}
