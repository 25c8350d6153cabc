// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// Node is the disk of one node as one rollout sees it. It is safe for concurrent use.
type Node struct {
	layout               nodepod.Layout
	resources, manifests durable.FileSystem
}

// Open opens a node whose directories both exist. It writes nothing.
func Open(layout nodepod.Layout) (*Node, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	n := &Node{layout: layout, resources: durable.Disk(layout.ResourceDirectory), manifests: durable.Disk(layout.ManifestDirectory)}
	if _, err := fs.ReadDir(n.resources, "."); err != nil {
		return nil, fmt.Errorf("open the directory of the static pod's resources: %w", err)
	}
	if _, err := fs.ReadDir(n.manifests, "."); err != nil {
		return nil, fmt.Errorf("open the directory of manifests, the staticPodPath of kubelet: %w", err)
	}
	return n, nil
}

// Create is Open for a first installation: it creates a missing resource directory. The manifest directory belongs to
// kubelet; if it is missing, kubelet is not configured or the path is wrong.
func Create(layout nodepod.Layout) (*Node, error) {
	if _, err := os.Stat(layout.ResourceDirectory); !errors.Is(err, fs.ErrNotExist) {
		return Open(layout)
	}
	if err := os.MkdirAll(layout.ResourceDirectory, nodepod.DirectoryMode.Perm()); err != nil {
		return nil, fmt.Errorf("make the directory of the static pod's resources: %w", err)
	}
	if err := durable.Disk(filepath.Dir(layout.ResourceDirectory)).SyncDirectory("."); err != nil {
		return nil, fmt.Errorf("make the directory of the static pod's resources: %w", err)
	}
	return Open(layout)
}

// Installed returns what the node runs from the next start of the static pod.
func (n *Node) Installed() (*nodepod.Installed, error) {
	return n.layout.ReadInstalled(n.resources, n.manifests)
}

func (n *Node) lock(ctx context.Context) (release func() error, err error) {
	return durable.Lock(ctx, n.resources, n.layout.LockName())
}

// clean removes what an interrupted run has left. The caller holds the lock. It syncs all directories, because an
// interrupted run may also have removed something that a power loss would bring back.
func (n *Node) clean() error {
	resources, manifests := &durable.Writer{FS: n.resources}, &durable.Writer{FS: n.manifests}
	entries, err := fs.ReadDir(n.resources, ".")
	resources.Do("list", n.layout.ResourceDirectory, func() error { return err })
	for _, entry := range entries {
		if n.layout.IsLeftover(entry.Name()) {
			resources.Remove(entry.Name())
		}
		if _, _, ok := n.layout.ParseDirectoryName(entry.Name()); ok && entry.IsDir() {
			cleanDirectory(resources, entry.Name())
		}
	}
	resources.Sync(".")
	for _, pod := range n.layout.Pods() {
		manifests.Remove(nodepod.Staged(pod.ManifestName()))
	}
	manifests.Sync(".")
	if err := errors.Join(resources.Err, manifests.Err); err != nil {
		return fmt.Errorf("remove what an interrupted run has left: %w", err)
	}
	return nil
}

func cleanDirectory(w *durable.Writer, dir string) {
	entries, err := fs.ReadDir(w.FS, dir)
	w.Do("list", dir, func() error { return err })
	for _, entry := range entries {
		if nodepod.IsLeftover(entry.Name()) {
			w.Remove(path.Join(dir, entry.Name()))
		}
	}
	w.Sync(dir)
}
