// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestCgroupsSideBySide makes and removes cgroups of nodes a hundred times, concurrently. Several networks act as
// several test binaries: they do not know of each other. No network may remove a cgroup of another one.
func TestCgroupsSideBySide(t *testing.T) {
	if err := rootOnLinux(); err != nil {
		t.Skipf("SKIPPED %s: %v", t.Name(), err)
	}
	for _, test := range []struct {
		name            string
		networks, times int
	}{
		{name: "the nodes of one network", networks: 1, times: 100},
		{name: "several networks", networks: 4, times: 25},
	} {
		t.Run(test.name, func(t *testing.T) {
			var wait sync.WaitGroup
			for range test.networks {
				dir := t.TempDir()
				wait.Go(func() { repeat(t, test.times, func() error { return comeAndGo(dir) }) })
				wait.Go(func() { repeat(t, test.times, cgroupsUsable) })
			}
			wait.Wait()
		})
	}
}

// repeat stops at the first error.
func repeat(t *testing.T, times int, do func() error) {
	t.Helper()
	for i := range times {
		if err := do(); err != nil {
			t.Errorf("time %d: %v", i+1, err)
			return
		}
	}
}

// comeAndGo makes and removes cgroups as a network does. The claim removes leftovers, the nodes boot and lose their
// power at the same time, and nothing stays.
func comeAndGo(dir string) error {
	c, err := takeClaim(dir, 0, false)
	if err != nil {
		return err
	}
	var nodes []*Node
	for i := range 3 {
		nodes = append(nodes, &Node{name: fmt.Sprintf("master-%d", i)})
	}
	err = each(nodes, func(n *Node) error {
		path := cgroupOfNode(c.number, n.name)
		if err := renewCgroup(path); err != nil {
			return err
		}
		return cgroupTakesProcesses(path)
	})
	err = errors.Join(err, each(nodes, func(n *Node) error { return removeCgroups(cgroupOfNode(c.number, n.name)) }))
	return errors.Join(err, removeLeftovers(c.number), cgroupIsGone(cgroupOfNetwork(c.number)), c.release())
}

// cgroupTakesProcesses checks that each hierarchy has the cgroup, and that its cpuset accepts processes.
func cgroupTakesProcesses(path string) error {
	dirs, _, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, path, "cgroup.procs")); err != nil {
			return err
		}
		cpus := filepath.Join(dir, path, "cpuset.cpus")
		if !exists(cpus) || exists(cpus+".effective") { // With v2 an empty set means the parent's.
			continue
		}
		text, err := os.ReadFile(cpus)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(text)) == "" {
			return fmt.Errorf("%s names no processor", cpus)
		}
	}
	return nil
}

func cgroupIsGone(path string) error {
	dirs, _, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if at := filepath.Join(dir, path); exists(at) {
			return fmt.Errorf("%s is there", at)
		}
	}
	return nil
}
