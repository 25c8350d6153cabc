// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine prints the facts about the machine that the figures depend on.
func (b *bench) machine(ctx context.Context) error {
	syncs, err := syncLatency(b.dir)
	if err != nil {
		return err
	}
	load := strings.Join(firstFields("/proc/loadavg", 3), " ")
	facts := [][]string{
		{"CPU", fmt.Sprintf("%d x %s", runtime.NumCPU(), valueOf("/proc/cpuinfo", "model name"))},
		{"memory", valueOf("/proc/meminfo", "MemTotal")},
		{"kernel", strings.Join(firstFields("/proc/sys/kernel/osrelease", 1), "")},
		{"go", runtime.Version()},
		{"commit", output(ctx, b.root, "git", "describe", "--always", "--dirty")},
		{"write and fsync of 4 KiB under .local/bench", fmt.Sprintf("p50 %s ms, p99 %s ms", number(median(syncs)), number(quantile(syncs, 0.99)))},
		{"load average before the run (1, 5, 15 minutes)", load},
		{"started", b.report.Started.Format(time.RFC3339)},
	}
	for _, fact := range facts {
		b.report.Machine[fact[0]] = fact[1]
	}
	b.report.Samples["fsync ms"] = syncs
	b.report.print(&table{Title: "Machine", Columns: []string{"fact", "value"}, Rows: facts, Notes: []string{
		"Client, certrotation, kube-apiserver and etcd share these CPUs. A load average that is not near 0 before the run means that other work shared them too: read the CPU seconds rather than the latencies.",
	}})
	return nil
}

// syncLatency measures appends to a file with fsync, in milliseconds.
func syncLatency(dir string) ([]float64, error) {
	file, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return nil, fmt.Errorf("make a file to sync: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	const times = 200
	block := make([]byte, 4096)
	samples := make([]float64, 0, times)
	for range times {
		begun := time.Now()
		if _, err := file.Write(block); err != nil {
			return nil, fmt.Errorf("write %s: %w", file.Name(), err)
		}
		if err := file.Sync(); err != nil {
			return nil, fmt.Errorf("sync %s: %w", file.Name(), err)
		}
		samples = append(samples, milliseconds(time.Since(begun)))
	}
	return samples, nil
}

// valueOf reads "name : value" from a file of /proc. It returns "unknown" if there is none.
func valueOf(file, name string) string {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstFields(file string, n int) []string {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return []string{"unknown"}
	}
	fields := strings.Fields(string(text))
	return fields[:min(n, len(fields))]
}

// output returns what a program prints, "unknown" if it fails.
func output(ctx context.Context, dir, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
