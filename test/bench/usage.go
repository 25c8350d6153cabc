// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc. It is 100 on every Linux architecture that Go supports.
const ticksPerSecond = 100

// cpuSeconds is the user and system time of a process, over all its threads.
func cpuSeconds(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	seconds, err := parseStat(string(text))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return seconds, nil
}

// parseStat reads utime and stime. It counts fields from the last parenthesis, because the name before it may
// contain anything.
func parseStat(text string) (float64, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields behind the name", len(fields))
	}
	var sum uint64
	for _, field := range []string{fields[utime], fields[stime]} {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse ticks: %w", err)
		}
		sum += ticks
	}
	return float64(sum) / ticksPerSecond, nil
}

// memory is the resident set of a process in MiB: now, and its peak.
type memory struct {
	Now  float64 `json:"nowMiB"`
	Peak float64 `json:"peakMiB"`
}

func memoryOf(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return parseStatus(string(text))
}

func parseStatus(text string) (memory, error) {
	var m memory
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		var field *float64
		switch name {
		case "VmRSS":
			field = &m.Now
		case "VmHWM":
			field = &m.Peak
		default:
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return memory{}, fmt.Errorf("parse %s: %w", name, err)
		}
		*field = kib / 1024
	}
	return m, nil
}
