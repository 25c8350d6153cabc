// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"certrotation.dev/test/cluster"
)

// initConfig describes process 1 of the node, which owns the node's namespaces.
func (n *Node) initConfig() cluster.ProcessConfig {
	return cluster.ProcessConfig{
		Name: "init", Path: n.network.tool("nodeinit"),
		Args: []string{
			"init", "--root", n.Path("/"), "--hostname", n.name, "--bind", n.network.cfg.BinDir + ":" + toolsInNode,
		},
		Dir: n.dir, Detach: n.network.cfg.Detach, Namespaces: namespaces,
	}
}

// PowerOn starts a node that is off: its namespaces, containerd, and kubelet unless StopKubelet was called. It
// returns when both are up. If the node is on, PowerOn starts only what does not run.
func (n *Node) PowerOn(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	fresh, err := n.boot(ctx)
	if err != nil {
		return err
	}
	if fresh {
		if err := n.rejoin(ctx); err != nil {
			return err
		}
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	if n.noKubelet {
		return nil
	}
	return n.startKubelet(ctx)
}

// boot starts init, unless it runs.
func (n *Node) boot(ctx context.Context) (fresh bool, err error) {
	if n.init.Running() {
		return false, nil
	}
	if !n.network.cfg.Detach {
		// This process holds the claim of the directory, so the recorded processes belong to one that was killed.
		if err := cluster.StopDir(ctx, n.dir, io.Discard); err != nil {
			return false, err
		}
	}
	if err := n.writeDisk(); err != nil {
		return false, err
	}
	adopted, err := n.launch(ctx, n.init)
	if err != nil || adopted {
		return false, err
	}
	if err := renewCgroup(cgroupOfNode(n.network.number, n.name)); err != nil {
		return false, err
	}
	err = n.init.WaitReady(ctx, func(context.Context) error {
		_, err := os.Stat(n.inMemory("/run/nodeinit.ready"))
		return err
	})
	if err != nil {
		return false, err
	}
	return true, n.connect(ctx)
}

// writeDisk writes the files that a node finds on its disk at its first boot. containerd shows them to pods.
// resolv.conf is empty because there is no name service.
func (n *Node) writeDisk() error {
	for _, dir := range []string{"/", "/etc"} {
		if err := os.MkdirAll(n.Path(dir), 0o755); err != nil {
			return err
		}
	}
	hosts := fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", n.IP(), n.name)
	return errors.Join(
		os.WriteFile(n.Path("/etc/hosts"), []byte(hosts), 0o644),
		os.WriteFile(n.Path("/etc/resolv.conf"), nil, 0o644),
		os.WriteFile(n.Path("/etc/machine-id"), fmt.Appendf(nil, "%024x%04x%04x\n", 0, n.network.number, n.host), 0o444),
	)
}

// inMemory returns where this machine finds a path of the running node that is not on its disk.
func (n *Node) inMemory(inNode string) string {
	return fmt.Sprintf("/proc/%d/root%s", n.init.Pid(), inNode)
}

// rejoin applies the node's cuts to its new network namespace.
func (n *Node) rejoin(ctx context.Context) error {
	n.network.cutting.Lock()
	defer n.network.cutting.Unlock()
	n.cutFrom = nil
	return n.network.applyCuts(ctx)
}

// PowerOff kills every process of the node at once, like a loss of power. What was in memory is gone (/run, mounts,
// addresses, containers); the disk stays. A node that is off stays off.
func (n *Node) PowerOff() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.powerOff()
}

func (n *Node) powerOff() error {
	// The kernel kills all processes of the namespace before it reports the end of its init.
	errs := []error{n.init.Kill()}
	for _, p := range []*cluster.Process{n.kubelet, n.containerd} {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
	errs = append(errs, removeInterface(vethName(n.network.number, n.host)))
	return errors.Join(append(errs, removeCgroups(cgroupOfNode(n.network.number, n.name)))...)
}

// shutDown stops kubelet and containerd in order before the power goes.
func (n *Node) shutDown(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for _, p := range []*cluster.Process{n.kubelet, n.containerd} {
		if p != nil {
			errs = append(errs, p.Stop(ctx))
		}
	}
	return errors.Join(append(errs, n.powerOff())...)
}
