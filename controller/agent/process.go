// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// SignalReload sends a signal to a process. Success means only that the signal was sent: the program does not answer.
type SignalReload struct {
	Signal syscall.Signal
	// PIDFile is written by the program. ProcessName is the name in /proc/PID/comm, which has at most 15 characters.
	// Exactly one of both is set. The containers of the pod must share their process namespace.
	PIDFile, ProcessName string
	// Processes is the directory /proc.
	Processes string
}

// Reload implements Reloader.
func (s *SignalReload) Reload(context.Context) error {
	targets, err := s.targets()
	if err != nil {
		return err
	}
	for _, pid := range targets {
		// kill(2) signals groups for other numbers, 1 is the first process of the pod, and the agent must not signal
		// itself.
		if pid <= 1 || pid == os.Getpid() {
			return fmt.Errorf("process %d is not the program's: set shareProcessNamespace: true, and compare with the flags", pid)
		}
		switch err := syscall.Kill(pid, s.Signal); {
		case errors.Is(err, syscall.EPERM):
			return fmt.Errorf("signal process %d: %w: run the agent as the user of the program, or with the capability KILL", pid, err)
		case errors.Is(err, syscall.ESRCH):
			return fmt.Errorf("signal process %d: %w: the program has ended, or does not share its processes (shareProcessNamespace: true)", pid, err)
		case err != nil:
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
	}
	return nil
}

func (s *SignalReload) targets() ([]int, error) {
	if s.PIDFile != "" {
		text, err := os.ReadFile(s.PIDFile)
		if err != nil {
			return nil, fmt.Errorf("read --pid-file: %w", err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(printable(text)))
		if err != nil {
			return nil, fmt.Errorf("read --pid-file %s: it has no number", s.PIDFile)
		}
		return []int{pid}, nil
	}
	found, err := named(s.Processes, s.ProcessName)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no process %q: set shareProcessNamespace: true, and compare with `cat /proc/PID/comm`", s.ProcessName)
	}
	return found, nil
}

// named returns the processes with a name, without those whose parent has that name too: a program hands what it has
// loaded to its workers. directory is /proc.
func named(directory, name string) ([]int, error) {
	proc, err := procfs.NewFS(directory)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	all, err := proc.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	parents := map[int]int{}
	for _, process := range all {
		// Skip a process that ends meanwhile.
		if stat, err := process.Stat(); err == nil && stat.Comm == name {
			parents[process.PID] = stat.PPID
		}
	}
	var out []int
	for pid, parent := range parents {
		if _, ok := parents[parent]; !ok {
			out = append(out, pid)
		}
	}
	return out, nil
}
