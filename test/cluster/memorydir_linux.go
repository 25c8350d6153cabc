// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryDirSize is the size that a directory of a cluster may reach; three nodes with their images take 1.3 GiB.
// memoryAvailable must be available, so that the processes have the rest. Both are bytes.
const (
	memoryDirSize   = 4 << 30
	memoryAvailable = 8 << 30
)

// memoryDir returns a directory in memory, "" if none is large enough.
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

// availableIn returns the available memory in /proc/meminfo in bytes, 0 if it is missing there.
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
