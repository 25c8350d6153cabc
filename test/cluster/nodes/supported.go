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
)

// programs are those that `make node-tools` builds.
var programs = [...]string{"nodeinit", "pause", "kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "cni-bridge", "cni-host-local"}

// Supported says what this machine lacks to run nodes, and nil when it lacks nothing. A test that needs nodes may skip with
// this error, by name; that the tools are not built is no reason to skip, and Start says so.
func Supported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("real nodes need Linux, this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("real nodes need root (namespaces, cgroups, mounts), this is user %d", os.Geteuid())
	}
	for program, from := range map[string]string{
		"ip": "package iproute2", "unshare": "package util-linux", "runc": "hack/install-runc.sh",
	} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("real nodes need the program %s (%s)", program, from)
		}
	}
	// One throwaway network namespace tells of the capabilities and of the kernel's bridges at once.
	trial := "ip link add bridge0 type bridge && ip link add veth0 type veth peer name veth1"
	if out, err := exec.Command("unshare", "--net", "--mount", "--pid", "--uts", "--fork", "sh", "-c", trial).CombinedOutput(); err != nil {
		return fmt.Errorf("real nodes need new namespaces with bridges and veth pairs (CAP_SYS_ADMIN, CAP_NET_ADMIN, kernel modules): %w: %s",
			err, strings.TrimSpace(string(out)))
	}
	return cgroupsUsable()
}

// cgroupsUsable tries what each node does: a cgroup of its own in each hierarchy.
func cgroupsUsable() error {
	trial := fmt.Sprintf("%s/trial-%d", cgroupParent, os.Getpid())
	if err := errors.Join(makeCgroup(trial), removeCgroups(trial)); err != nil {
		return fmt.Errorf("real nodes need cgroups that root may change: %w", err)
	}
	return nil
}

// checkTools finds a missing program before anything is started.
func checkTools(binDir string) error {
	for _, name := range programs {
		if !exists(filepath.Join(binDir, name)) {
			return fmt.Errorf("%s is not built in %s: run `make node-tools`", name, binDir)
		}
	}
	return nil
}
