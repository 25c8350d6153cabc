// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses and may hold anything, parentheses too. Behind the last one
	// come the state (field 3 of proc(5)) and, 19 fields on, the start time (field 22).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("unexpected /proc/%d/stat: %q", pid, stat)
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", os.ErrProcessDone
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[19], nil
}
