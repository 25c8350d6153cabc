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

// toolsInNode is where a node sees Config.BinDir.
const toolsInNode = "/opt/node/bin"

// Node is one machine of the network. Its methods may be called from several goroutines; those that start or stop something
// wait for each other.
type Node struct {
	network *Network
	name    string
	host    int    // the last octet of its address
	dir     string // process records and logs; root/ is its file system

	mu         sync.Mutex
	init       *cluster.Process // process 1 of the node: all others end with it
	containerd *cluster.Process // nil before the first start
	kubelet    *cluster.Process
	noKubelet  bool // StopKubelet was called

	cutFrom []string // guarded by network.cutting: whom this node's table of neighbours hides
}

func newNode(w *Network, name string, host int) *Node {
	n := &Node{network: w, name: name, host: host, dir: filepath.Join(w.cfg.Dir, name)}
	n.init = cluster.NewProcess(n.initConfig())
	return n
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// IP is the node's address.
func (n *Node) IP() net.IP { return addressOf(n.network.number, n.host) }

// Path is where this machine finds a path of the node's disk. /run and /tmp of a node are in memory, and not there.
func (n *Node) Path(inNode string) string { return filepath.Join(n.dir, "root", inNode) }

// LogFile is the log of a process of this node: kubelet, containerd or init.
func (n *Node) LogFile(process string) string { return filepath.Join(n.dir, "logs", process+".log") }

// Running says whether the node has power.
func (n *Node) Running() bool { return n.init.Running() }

// Err tells of processes that ended without having been asked to.
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

// Dial connects to an address as the node does: from its network, with its address.
func (n *Node) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !n.Running() {
		return nil, fmt.Errorf("dial %s from node %s: the node is off", address, n.name)
	}
	return dialFrom(ctx, fmt.Sprintf("/proc/%d/ns/net", n.init.Pid()), network, address)
}

// Command is a command that runs inside the node: in its namespaces and on its file system. Where it is a test that waits
// for the command, the context kills it.
func (n *Node) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.network.tool("nodeinit"), append([]string{"enter", strconv.Itoa(n.init.Pid())}, argv...)...)
	cmd.Env = append(os.Environ(), environment()...)
	return cmd
}

// Exec runs a command inside the node and returns what it printed. The error of a command that fails has its output.
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

// environment is what processes in a node get besides this machine's: no proxy stands between the nodes.
func environment() []string {
	return []string{
		"PATH=" + toolsInNode + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"NO_PROXY=*", "no_proxy=*",
		// Kubelet and containerd of three nodes on one small machine mostly wake each other up: a sixth of the CPU time of a test.
		"GOMAXPROCS=1",
	}
}

// process describes a program that runs inside the node as long as its init does.
func (n *Node) process(name string, args ...string) *cluster.Process {
	return cluster.NewProcess(cluster.ProcessConfig{
		Name: name, Path: n.network.tool("nodeinit"),
		Args: append([]string{"enter", strconv.Itoa(n.init.Pid()), path.Join(toolsInNode, cluster.ToolPath(n.network.cfg.Kubernetes, name))}, args...),
		Env:  environment(), Dir: n.dir, Detach: n.network.cfg.Detach,
	})
}

// launch starts p, or takes over what a detached network left running.
func (n *Node) launch(ctx context.Context, p *cluster.Process) (adopted bool, err error) {
	if p.Running() {
		return true, nil
	}
	if n.network.cfg.Detach {
		return p.StartOrAdopt(ctx)
	}
	return false, p.Start()
}
