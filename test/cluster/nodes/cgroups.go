// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	cgroupMount = "/sys/fs/cgroup"
	// emptyTimeout bounds how long the kernel takes to release the cgroups of killed processes.
	emptyTimeout = time.Minute
)

// cgroupOfNetwork is made by the network's first node. The owner of the network's claim removes it when no node runs.
// It is at the root of each hierarchy, because a cgroup above all networks would have no last user to remove it.
func cgroupOfNetwork(number int) string { return fmt.Sprintf("/certrotation-%d", number) }

// cgroupOfNode is made and removed only by the node, one call at a time (Node.mu).
func cgroupOfNode(number int, name string) string {
	return cgroupOfNetwork(number) + "/" + name
}

// cgroupHierarchies returns the directories that hold a hierarchy: one with cgroup v2, one for each controller with
// v1.
func cgroupHierarchies() (dirs []string, unified bool, err error) {
	if exists(filepath.Join(cgroupMount, "cgroup.controllers")) {
		return []string{cgroupMount}, true, nil
	}
	files, err := filepath.Glob(filepath.Join(cgroupMount, "*", "cgroup.procs"))
	if err != nil {
		return nil, false, err
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		// Skip links such as cpu -> cpu,cpuacct, and the unified hierarchy beside v1, which kubelet does not use
		// then.
		if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink != 0 || exists(filepath.Join(dir, "cgroup.controllers")) {
			continue
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		return nil, false, fmt.Errorf("no cgroup hierarchy is mounted below %s", cgroupMount)
	}
	return dirs, false, nil
}

// makeCgroup makes the cgroup for the pods of one node. Several nodes may make its parents at the same time: each
// node makes all of them and keeps what another one made.
func makeCgroup(path string) error {
	dirs, unified, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		at := dir
		for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if unified {
				if err := enableControllers(at); err != nil {
					return err
				}
			}
			at = filepath.Join(at, part)
			if err := os.MkdirAll(at, 0o755); err != nil {
				return fmt.Errorf("make the cgroup %s: %w", at, err)
			}
			if err := copyCpuset(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// renewCgroup makes a cgroup without the limits and counts of its earlier processes.
func renewCgroup(path string) error {
	if err := removeCgroups(path); err != nil {
		return err
	}
	return makeCgroup(path)
}

// enableControllers lets the children of a v2 cgroup use all of its controllers.
func enableControllers(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var enable []string
	for controller := range strings.FieldsSeq(string(text)) {
		enable = append(enable, "+"+controller)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(strings.Join(enable, " ")), 0o644); err != nil {
		return fmt.Errorf("enable the controllers of cgroup %s (it must not have processes of its own unless it is the machine's root): %w", dir, err)
	}
	return nil
}

// copyCpuset copies the processors and memory of its parent to a v1 cpuset, which takes no process without them.
func copyCpuset(dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(string(own)) != "" {
			continue
		}
		if err != nil {
			return err
		}
		parents, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // The root of v2 has none, and needs none.
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), parents, 0o644); err != nil {
			return fmt.Errorf("copy %s to %s: %w", name, dir, err)
		}
	}
	return nil
}

// removeCgroups removes a cgroup and all below it, whose processes must be gone or dying. It keeps the parents, which
// may have other users.
func removeCgroups(path string) error {
	dirs, unified, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	if !unified {
		// Where it is mounted beside v1, runc makes a cgroup there too.
		dirs = append(dirs, filepath.Join(cgroupMount, "unified"))
	}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, removeTree(filepath.Join(dir, path)))
	}
	return errors.Join(errs...)
}

func removeTree(root string) error {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(emptyTimeout)
	for _, dir := range slices.Backward(found) {
		for {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("remove the cgroup %s: %w", dir, err)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	return nil
}
