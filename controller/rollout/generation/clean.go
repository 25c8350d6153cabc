// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"path"
)

// clean removes what an interrupted run has left. Whoever calls it holds the lock. All directories are synced, because the
// interrupted run may also have removed something that would come back.
func (n *Node) clean() error {
	entries, err := n.resources.ReadDirectory(".")
	if err != nil {
		return fmt.Errorf("list %s: %w", n.layout.ResourceDirectory, err)
	}
	resources := &writer{fs: n.resources}
	for _, entry := range entries {
		if n.ownLeftover(entry.Name()) {
			resources.remove(entry.Name())
		}
		if _, _, ok := n.layout.revisionOf(entry.Name()); ok && entry.IsDir() {
			resources.cleanDirectory(entry.Name())
		}
	}
	resources.sync(".")
	if resources.err != nil {
		return fmt.Errorf("remove what an interrupted run has left: %w", resources.err)
	}
	manifests := &writer{fs: n.manifests}
	manifests.remove(staged(n.layout.manifestName()))
	manifests.sync(".")
	if manifests.err != nil {
		return fmt.Errorf("remove what an interrupted run has left: %w", manifests.err)
	}
	return nil
}

func (w *writer) cleanDirectory(dir string) {
	entries, err := w.fs.ReadDirectory(dir)
	w.do("list", dir, func() error { return err })
	for _, entry := range entries {
		if leftover(entry.Name()) {
			w.remove(path.Join(dir, entry.Name()))
		}
	}
	w.sync(dir)
}
