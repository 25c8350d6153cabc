// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"certrotation.dev/test/cluster"
)

// programs are the programs that `make node-tools` builds.
var programs = [...]string{"nodeinit", "pause", "kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local"}

// Supported returns an error with what this machine lacks to run nodes. A test that needs nodes may skip with this
// error. Missing tools are no reason to skip; Start reports those.
func Supported() error {
	if err := rootOnLinux(); err != nil {
		return err
	}
	for program, from := range map[string]string{
		"ip": "package iproute2", "unshare": "package util-linux", "runc": "package runc",
	} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("real nodes need the program %s (%s)", program, from)
		}
	}
	// One temporary network namespace tests the capabilities and the kernel's bridges at once.
	trial := "ip link add bridge0 type bridge && ip link add veth0 type veth peer name veth1"
	if out, err := exec.Command("unshare", "--net", "--mount", "--pid", "--uts", "--fork", "sh", "-c", trial).CombinedOutput(); err != nil {
		return fmt.Errorf("real nodes need new namespaces with bridges and veth pairs (CAP_SYS_ADMIN, CAP_NET_ADMIN, kernel modules): %w: %s",
			err, strings.TrimSpace(string(out)))
	}
	return cgroupsUsable()
}

func rootOnLinux() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("real nodes need Linux, this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("real nodes need root (namespaces, cgroups, mounts), this is user %d", os.Geteuid())
	}
	return nil
}

const cgroupTrial = "/certrotation-trial"

// cgroupsUsable makes a cgroup in each hierarchy, as each node does. It always has the same name, so that the next
// trial removes the leftovers of a killed process.
func cgroupsUsable() error {
	unlock, err := lockTrial()
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(renewCgroup(cgroupTrial), removeCgroups(cgroupTrial)); err != nil {
		return fmt.Errorf("real nodes need cgroups that root may change: %w", err)
	}
	return nil
}

// lockTrial waits until no other process of this machine uses the trial's cgroup, which takes milliseconds. The
// kernel drops the lock when its holder dies.
func lockTrial() (unlock func(), err error) {
	if err := os.MkdirAll(claimDir, 0o755); err != nil {
		return nil, fmt.Errorf("real nodes need locks: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(claimDir, "trial"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("real nodes need locks: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return func() { file.Close() }, nil
}

// checkTools finds a missing program before anything is started.
func checkTools(cfg *Config) error {
	for _, name := range programs {
		if !exists(filepath.Join(cfg.BinDir, cluster.ToolPath(cfg.Kubernetes, name))) {
			return fmt.Errorf("%s is not built in %s: %s", name, cfg.BinDir, cluster.HowToBuild(cfg.Kubernetes, "node-tools"))
		}
	}
	return nil
}
