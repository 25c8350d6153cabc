// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// SignalReload sends a signal to a process. That it was sent is all that is known then: the program says nothing.
type SignalReload struct {
	Signal syscall.Signal
	// PIDFile is written by the program, ProcessName is as /proc/PID/comm has it, which is 15 characters long at most. One of
	// both is set. The containers of the pod have to share their processes.
	PIDFile, ProcessName string
	// Processes is /proc.
	Processes fs.FS
}

// Reload implements Reloader.
func (s *SignalReload) Reload(context.Context) error {
	targets, err := s.targets()
	if err != nil {
		return err
	}
	for _, pid := range targets {
		// kill reaches whole groups by other numbers, 1 is the pod's own, and this is the agent.
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

// named are the processes of a name, without those whose parent has that name too: a program that starts workers hands them
// what it has loaded.
func named(processes fs.FS, name string) ([]int, error) {
	entries, err := fs.ReadDir(processes, ".")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// What ends meanwhile is not meant.
		if stat, err := fs.ReadFile(processes, path.Join(entry.Name(), "stat")); err == nil {
			if comm, parent, ok := parseStat(string(stat)); ok && comm == name {
				parents[pid] = parent
			}
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

// parseStat reads name and parent of /proc/PID/stat: PID (NAME) STATE PARENT ... The name may have anything in it.
func parseStat(stat string) (name string, parent int, ok bool) {
	begin, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return "", 0, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return stat[begin+1 : end], parent, err == nil
}
