// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// programs are the directories of the machine that a node shares: what runc, mount and a shell need. On a machine with a
// merged /usr all but the first are links.
var programs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"}

// mountAll builds the node's file system on root and moves there. Everything else that is in root is the node's own, and
// stays when the node is gone; /run and /tmp do not, as on a machine that lost its power.
func mountAll(root string, extra binds) error {
	// Nothing that is mounted here may appear on the machine, and nothing that the machine mounts may appear here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the node's mounts its own: %w", err)
	}
	if err := bind(root, root, false); err != nil {
		return err
	}
	for _, dir := range programs {
		if err := share(dir, filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	// The loader's cache and the alternatives that programs of the machine are linked through.
	for _, file := range []string{"/etc/ld.so.cache", "/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"} {
		if err := share(file, filepath.Join(root, file)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/dev", "/sys"} {
		if err := bind(dir, filepath.Join(root, dir), false); err != nil {
			return err
		}
	}
	for _, pair := range extra {
		from, to, _ := strings.Cut(pair, ":")
		if err := bind(from, filepath.Join(root, to), true); err != nil {
			return err
		}
	}
	if err := mountNew(root); err != nil {
		return err
	}
	return enterRoot(root)
}

func mountNew(root string) error {
	for _, fresh := range []struct{ kind, at, options string }{
		{"proc", "/proc", ""},
		{"tmpfs", "/run", "mode=0755"},
		{"tmpfs", "/tmp", "mode=1777"},
	} {
		at := filepath.Join(root, fresh.at)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(fresh.kind, at, fresh.kind, unix.MS_NOSUID|unix.MS_NODEV, fresh.options); err != nil {
			return fmt.Errorf("mount %s at %s: %w", fresh.kind, at, err)
		}
	}
	run := filepath.Join(root, "var", "run")
	if err := os.MkdirAll(filepath.Dir(run), 0o755); err != nil {
		return err
	}
	if err := os.Symlink("/run", run); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// share shows a file, directory or link of the machine at a path of the node, read only. What the machine does not have is
// left out.
func share(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return bind(from, to, true)
	}
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(target, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func bind(from, to string, readOnly bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := makeMountPoint(to, info.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s at %s: %w", from, to, err)
	}
	if !readOnly {
		return nil
	}
	if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make %s read only: %w", to, err)
	}
	return nil
}

func makeMountPoint(at string, dir bool) error {
	if dir {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// enterRoot makes root the root of this mount namespace, and lets go of the machine's.
func enterRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Both roots at the same place: the old one lies on top, and is taken off.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("make %s the root: %w", root, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the machine's file system: %w", err)
	}
	// Volumes of pods that were told to propagate their mounts need a shared root.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the node's mounts with its pods: %w", err)
	}
	return os.Chdir("/")
}
