// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

// trace is what a running network has outside its directory.
type trace struct {
	dir, bridge, cgroup string
	namespaces          map[string]bool // Network namespaces of the nodes, which pods with hostNetwork share.
}

func traceOf(w *nodes.Network) trace {
	number := strconv.Itoa(int(w.Gateway().To4()[1]))
	tr := trace{bridge: "crt" + number, cgroup: "/certrotation-" + number, namespaces: map[string]bool{}}
	for _, n := range w.Nodes() {
		tr.dir = filepath.Dir(filepath.Dir(n.Path("/")))
		pid, err := os.ReadFile(filepath.Join(tr.dir, n.Name(), "init.pid"))
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%s/ns/net", strings.TrimSpace(string(pid)))); err == nil {
			tr.namespaces[ns] = true
		}
	}
	return tr
}

// isGone checks that nothing of the network is left in the kernel.
func (tr trace) isGone(t *testing.T) {
	t.Helper()
	if len(tr.namespaces) == 0 {
		t.Error("the network had no namespaces, so this check says nothing")
	}
	// The kernel removes namespaces some time after their last process.
	eventually(t, "wait until the network is gone", func() error {
		if _, err := net.InterfaceByName(tr.bridge); err == nil {
			return fmt.Errorf("the bridge %s is there", tr.bridge)
		}
		for _, hierarchies := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} { // v2, v1
			left, err := filepath.Glob(hierarchies + tr.cgroup)
			if err != nil {
				return err
			}
			if len(left) > 0 {
				return fmt.Errorf("cgroups are there: %v", left)
			}
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return err
		}
		if strings.Contains(string(mounts), tr.dir) {
			return fmt.Errorf("something is mounted in %s", tr.dir)
		}
		return tr.processesGone()
	})
}

func (tr trace) processesGone() error {
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return err
	}
	for _, link := range links {
		ns, err := os.Readlink(link)
		if err != nil {
			continue // It ended meanwhile.
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "cmdline"))
		if err != nil {
			continue
		}
		if tr.namespaces[ns] || strings.Contains(string(command), tr.dir) {
			return fmt.Errorf("%s runs: %q", link, command)
		}
	}
	return nil
}

// memoryOf returns the proportional set size of all processes of the nodes.
func memoryOf(t *testing.T, w *nodes.Network) string {
	t.Helper()
	tr := traceOf(w)
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var total int
	by := map[string]int{}
	for _, link := range links {
		process := filepath.Dir(filepath.Dir(link))
		if ns, err := os.Readlink(link); err != nil || !tr.namespaces[ns] {
			continue
		}
		rollup, err := os.ReadFile(filepath.Join(process, "smaps_rollup"))
		if err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
				kib, err := strconv.Atoi(f[1])
				if err != nil {
					t.Fatal(err)
				}
				total += kib
				by[strings.TrimSpace(string(name))] += kib
			}
		}
	}
	return fmt.Sprintf("%d nodes use %d MiB at %s (in KiB: %v)", len(w.Nodes()), total>>10, time.Now().Format(time.TimeOnly), by)
}
