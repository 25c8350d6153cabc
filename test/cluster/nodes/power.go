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

// initConfig describes process 1 of the node, which owns its namespaces.
func (n *Node) initConfig() cluster.ProcessConfig {
	return cluster.ProcessConfig{
		Name: "init", Path: n.network.tool("nodeinit"),
		Args: []string{
			"init", "--root", n.Path("/"), "--hostname", n.name, "--bind", n.network.cfg.BinDir + ":" + toolsInNode,
		},
		Dir: n.dir, Detach: n.network.cfg.Detach, Namespaces: namespaces,
	}
}

// PowerOn starts a node that is off: its namespaces, containerd, and kubelet, unless StopKubelet was called before. It
// returns when both are up. A node that is on stays as it is; what of it does not run is started.
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
		// The claim of the directory is ours: what is recorded here belonged to a process that was killed, and is dying.
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

// writeDisk writes what a node finds on its disk at its first boot; containerd shows these files to pods. There is no name
// service, and so nothing in resolv.conf.
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

// inMemory is where this machine finds a path of the running node that is not on its disk.
func (n *Node) inMemory(inNode string) string {
	return fmt.Sprintf("/proc/%d/root%s", n.init.Pid(), inNode)
}

// rejoin cuts the new network namespace off from whom the node was cut off from before.
func (n *Node) rejoin(ctx context.Context) error {
	n.network.cutting.Lock()
	defer n.network.cutting.Unlock()
	n.cutFrom = nil
	return n.network.applyCuts(ctx)
}

// PowerOff is the loss of power: every process of the node is killed at once, nothing is written any more, and what was in
// memory (/run, mounts, addresses, containers) is gone. The disk stays. A node that is off stays off.
func (n *Node) PowerOff() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.powerOff()
}

func (n *Node) powerOff() error {
	// The kernel kills all processes of the namespace before the end of its init is reported.
	errs := []error{n.init.Kill()}
	for _, p := range []*cluster.Process{n.kubelet, n.containerd} {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
	errs = append(errs, removeInterface(vethName(n.network.number, n.host)))
	return errors.Join(append(errs, removeCgroups(cgroupOfNode(n.network.number, n.name)))...)
}

// shutDown ends kubelet and containerd in order before the power goes.
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
