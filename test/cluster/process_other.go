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

// processAttributes: there is no death signal here; a process of a killed test has to be ended by StopDir.
// There are no namespaces either, and package nodes says so before it asks for one.
func processAttributes(detach bool, _ uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: detach, Setpgid: !detach}
}

// processIdentity is the process's start time as ps prints it, to the second.
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
