// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes sets no death signal, which only Linux has: StopDir must end the processes of a killed test.
// Namespaces are missing here too; package nodes refuses before it asks for one.
func processAttributes(detach bool, _ uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: detach, Setpgid: !detach}
}

// processIdentity returns the process's start time as ps prints it, to the second.
func processIdentity(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("ps of process %d: %w", pid, err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(started), nil
}
