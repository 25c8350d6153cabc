// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"path"
)

// clean removes what an interrupted run has left. Whoever calls it holds the lock.
func (n *Node) clean() error {
	entries, err := n.resources.ReadDirectory(".")
	if err != nil {
		return fmt.Errorf("list %s: %w", n.layout.ResourceDirectory, err)
	}
	resources := &writer{fs: n.resources}
	for _, entry := range entries {
		if n.ownLeftover(entry.Name()) {
			resources.discard(entry.Name())
		}
		if _, _, ok := n.layout.revisionOf(entry.Name()); ok && entry.IsDir() {
			resources.cleanDirectory(entry.Name())
		}
	}
	if resources.err != nil {
		return fmt.Errorf("remove what an interrupted run has left: %w", resources.err)
	}
	manifests := &writer{fs: n.manifests}
	manifests.discard(staged(n.layout.manifestName()))
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
			w.discard(path.Join(dir, entry.Name()))
		}
	}
}
