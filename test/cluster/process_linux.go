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

// processAttributes gives a detached process its own session. Any other process dies with its parent, and has its own
// process group: Ctrl-C then reaches only the parent, which stops the process in order.
func processAttributes(detach bool, namespaces uintptr) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: namespaces}
}

// processIdentity returns this machine's boot id and the process's start time in clock ticks since the boot. With the
// process id they identify a process forever. It fails if the process does not exist or is a zombie.
func processIdentity(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses, which may itself contain parentheses. After the last one
	// come the state (field 3 of proc(5)) and, 19 fields later, the start time (field 22).
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
