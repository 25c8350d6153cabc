// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// processAttributes: a detached process gets a session of its own; any other dies with its parent, and has a process
// group of its own so that Ctrl-C reaches only the parent, which then stops it in order.
func processAttributes(detach bool, namespaces uintptr) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: namespaces}
}

// processIdentity is the boot of this machine and the process's start time in clock ticks since then: together with the
// process id no other process ever has the same. It is an error when there is no such process, or only its zombie.
func processIdentity(pid int) (string, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return "", err
	}
	stat, err := process.Stat()
	if err != nil {
		return "", err
	}
	if stat.State == "Z" || stat.State == "X" {
		return "", os.ErrProcessDone
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + strconv.FormatUint(stat.Starttime, 10), nil
}
