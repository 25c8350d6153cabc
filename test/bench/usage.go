// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// cpuSeconds is the user and system time that a process has used, all threads together.
func cpuSeconds(pid int) (float64, error) {
	stat, err := statOf(pid)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return stat.CPUTime(), nil
}

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

// memory is the resident set of a process in MiB: now, and its largest so far.
type memory struct {
	Now  float64 `json:"nowMiB"`
	Peak float64 `json:"peakMiB"`
}

func memoryOf(pid int) (memory, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return memory{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return memory{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	const mebibyte = 1 << 20
	return memory{Now: float64(status.VmRSS) / mebibyte, Peak: float64(status.VmHWM) / mebibyte}, nil
}
