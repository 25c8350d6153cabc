// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a directory of a cluster may grow to, and what has to be available so that its processes have the rest. Three nodes
// with their images take 1.3 GiB.
const (
	memoryDirSize   = 4 << 30
	memoryAvailable = 8 << 30
)

// memoryDir is a directory in memory, "" for none that is large enough.
func memoryDir() string {
	const shared = "/dev/shm"
	var stat unix.Statfs_t
	if err := unix.Statfs(shared, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC || stat.Bavail*uint64(stat.Bsize) < memoryDirSize {
		return ""
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil || availableIn(string(info)) < memoryAvailable {
		return ""
	}
	return shared
}

// availableIn is how many bytes /proc/meminfo says are available, 0 if it does not say so.
func availableIn(info string) int {
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
