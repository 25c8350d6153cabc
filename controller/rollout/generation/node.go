// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Node is the disk of one node, seen by one rollout. It is safe for concurrent use; Close ends it.
type Node struct {
	layout               Layout
	resources, manifests fileSystem
	lock                 func() (release func() error, busy bool, err error)
	close                func() error
}

// Open opens the directories, both of which have to exist. It writes nothing.
func Open(layout Layout) (*Node, error) {
	if layout.HostResourceDirectory == "" {
		layout.HostResourceDirectory = layout.ResourceDirectory
	}
	if err := layout.check(); err != nil {
		return nil, err
	}
	resources, err := os.OpenRoot(layout.ResourceDirectory)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the static pod's resources: %w", err)
	}
	manifests, err := os.OpenRoot(layout.ManifestDirectory)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the directory of manifests, the staticPodPath of kubelet: %w", err), resources.Close())
	}
	return &Node{
		layout: layout, resources: disk{resources}, manifests: disk{manifests},
		lock:  func() (func() error, bool, error) { return tryLock(resources, layout.lockName()) },
		close: func() error { return errors.Join(resources.Close(), manifests.Close()) },
	}, nil
}

// Create is Open, after it has made the resource directory if there is none, for a first installation. The directory of
// manifests belongs to kubelet: if it is missing, so is kubelet's configuration, or the path is wrong.
func Create(layout Layout) (*Node, error) {
	if _, err := os.Stat(layout.ResourceDirectory); !errors.Is(err, fs.ErrNotExist) {
		return Open(layout)
	}
	if err := os.MkdirAll(layout.ResourceDirectory, directoryMode); err != nil {
		return nil, fmt.Errorf("make the directory of the static pod's resources: %w", err)
	}
	parent, err := os.Open(filepath.Dir(layout.ResourceDirectory))
	if err != nil {
		return nil, fmt.Errorf("make the directory of the static pod's resources: %w", err)
	}
	if err := errors.Join(parent.Sync(), parent.Close()); err != nil {
		return nil, fmt.Errorf("make the directory of the static pod's resources: %w", err)
	}
	return Open(layout)
}

// Close closes the directories.
func (n *Node) Close() error { return n.close() }
