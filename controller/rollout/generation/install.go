// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	"k8s.io/apimachinery/pkg/api/equality"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// Result is the outcome of an installation.
type Result struct {
	// Changed is false if everything was in its place.
	Changed bool
	// Restart reports whether a manifest was replaced, so that kubelet restarts the pod.
	Restart bool
	// Directory is the revision of the manifest, Generation the revision of the pointer.
	Directory  int
	Generation int
}

// Install installs a revision, or completes an interrupted installation. It waits for the lock until ctx ends, and
// stops between two steps when ctx ends. After that or any error, either the old or the new revision is complete and
// in use. It returns ErrNewer or ErrContent before it writes anything.
func (n *Node) Install(ctx context.Context, request Request) (Result, error) {
	o, err := request.check()
	if err != nil {
		return Result{}, err
	}
	wanted, err := o.manifests(n.layout, o.Revision)
	if err != nil {
		return Result{}, err
	}
	release, err := n.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	result, err := n.install(ctx, o, wanted)
	return result, errors.Join(err, release())
}

func (n *Node) install(ctx context.Context, o *order, wanted []manifest) (Result, error) {
	installed, current, err := n.before(o)
	if err != nil {
		return Result{}, err
	}
	if err := o.checkExpiry(current); err != nil {
		return Result{}, err
	}
	if err := n.clean(); err != nil {
		return Result{}, err
	}
	result := Result{Directory: o.Revision, Generation: o.Revision}
	inPlace, err := n.canReload(installed, o)
	if err != nil {
		return Result{}, err
	}
	if inPlace {
		// The manifests in the directory stay; kubelet's are those just read.
		result.Directory = installed.Revision
		if wanted, err = o.manifests(n.layout, installed.Revision); err != nil {
			return Result{}, err
		}
	}
	resources, manifests := &durable.Writer{FS: n.resources}, &durable.Writer{FS: n.manifests}
	dir := n.layout.DirectoryName(result.Directory)
	for _, step := range []func(){
		func() { n.ensureDirectory(resources, dir) },
		func() { result.Changed = n.ensureGeneration(resources, dir, o) },
		func() {
			for _, m := range wanted {
				result.Changed = resources.File(path.Join(dir, m.pod.ManifestName()), m.text) || result.Changed
			}
		},
		func() {
			result.Changed = resources.Link(nodepod.GenerationName(o.Revision), path.Join(dir, nodepod.PointerName)) || result.Changed
		},
		func() {
			if inPlace {
				return
			}
			// All at once: each of the static pods restarts anyway, so their clients wait only once.
			for _, m := range wanted {
				result.Restart = manifests.File(m.pod.ManifestName(), m.text) || result.Restart
			}
			result.Changed = result.Changed || result.Restart
		},
	} {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("stop before revision %d is installed: %w", o.Revision, context.Cause(ctx))
		}
		step()
		if err := errors.Join(resources.Err, manifests.Err); err != nil {
			return Result{}, fmt.Errorf("install revision %d: %w", o.Revision, err)
		}
	}
	// An earlier run may have replaced a manifest without a sync, or its mode may have changed.
	for _, m := range wanted {
		if m.pod.ReadManifest(n.manifests, ".").Defects.Has(nodepod.FileMode) {
			manifests.Chmod(m.pod.ManifestName(), nodepod.PlainMode)
		}
	}
	manifests.Sync(".")
	return result, manifests.Err
}

// before reads what is installed and refuses an order that may not follow it. A manifest that the installer did not
// write counts as none and is replaced. The manifest returned belongs to the rollout's namesake static pod. The
// generation is the one that its pointer names, or nil.
func (n *Node) before(o *order) (*nodepod.Manifest, *nodepod.Generation, error) {
	var installed nodepod.Manifest
	for _, pod := range n.layout.Pods() {
		installed = pod.ReadManifest(n.manifests, ".")
		if installed.Defects.Has(nodepod.Unreadable) {
			return nil, nil, installed.Defects.Err()
		}
		if installed.Revision > o.Revision {
			return nil, nil, fmt.Errorf("%w: its manifest is of revision %d, asked for was %d", ErrNewer, installed.Revision, o.Revision)
		}
	}
	if !installed.FromInstaller() {
		return nil, nil, nil
	}
	current := n.pointedAt(&installed)
	switch {
	case current == nil:
	case current.Number > o.Revision:
		return nil, nil, fmt.Errorf("%w: %s points at generation %d, asked for was %d", ErrNewer,
			path.Join(n.layout.DirectoryName(installed.Revision), nodepod.PointerName), current.Number, o.Revision)
	case current.Number == o.Revision && len(current.Defects) == 0 && !o.wrote(current):
		return nil, nil, fmt.Errorf("%w: revision %d is on this node with other content: a revision never changes, make a new one", ErrContent, current.Number)
	}
	return &installed, current, nil
}

// pointedAt returns the generation that the pointer beside a manifest names, or nil.
func (n *Node) pointedAt(m *nodepod.Manifest) *nodepod.Generation {
	dir := n.layout.DirectoryName(m.Revision)
	pointer := n.layout.ReadPointer(n.resources, dir)
	if len(pointer.Defects) > 0 {
		return nil
	}
	return n.layout.ReadGeneration(n.resources, path.Join(dir, nodepod.GenerationName(pointer.Generation)), pointer.Generation)
}

func (o *order) wrote(g *nodepod.Generation) bool {
	return len(g.Defects) == 0 && g.Record.ContentHash == o.record.ContentHash && g.Record.RestartHash == o.record.RestartHash &&
		g.Record.Node == o.record.Node && maps.Equal(g.Record.Files, o.record.Files)
}

// canReload reports whether the static pods can run the order without a restart. The order must equal all that the
// processes read at start, and each manifest may differ only in the revision. installed is the manifest of the
// rollout's namesake static pod; companions must mount the same directory.
func (n *Node) canReload(installed *nodepod.Manifest, o *order) (bool, error) {
	if installed == nil || installed.RestartHash != o.RestartHash {
		return false, nil
	}
	if there, err := nodepod.IsDirectory(n.resources, n.layout.DirectoryName(installed.Revision)); err != nil || !there {
		return false, nil //nolint:nilerr // what the pod mounts is gone: it needs another directory, and a restart
	}
	wanted, err := o.manifests(n.layout, installed.Revision)
	if err != nil {
		return false, err
	}
	for _, m := range wanted {
		pod, err := nodepod.ParsePod(m.text)
		if err != nil {
			return false, err
		}
		if runs := m.pod.ReadManifest(n.manifests, "."); !equality.Semantic.DeepEqual(pod, runs.Pod) {
			return false, nil
		}
	}
	return true, nil
}

func (n *Node) ensureDirectory(w *durable.Writer, dir string) {
	w.MkdirAll(dir)
	if info, err := fs.Lstat(n.resources, dir); err == nil && info.Mode() != nodepod.DirectoryMode {
		w.Chmod(dir, nodepod.DirectoryMode)
	}
	w.Sync(".")
}

// ensureGeneration writes the generation unless it exists and is intact. A damaged one is exchanged atomically,
// because the pointer may name it.
func (n *Node) ensureGeneration(w *durable.Writer, dir string, o *order) (changed bool) {
	name := path.Join(dir, nodepod.GenerationName(o.Revision))
	there, err := nodepod.IsDirectory(n.resources, name)
	w.Do("write generation", name, func() error { return err })
	if there && o.wrote(n.layout.ReadGeneration(n.resources, name, o.Revision)) {
		w.Sync(dir)
		return false
	}
	record, err := o.record.Encode()
	w.Do("write generation", name, func() error { return err })
	staged := nodepod.Staged(name)
	w.Tree(staged, o.files)
	w.Write(path.Join(staged, nodepod.RecordName), record)
	w.Sync(staged)
	w.Do("verify", staged, func() error { return n.layout.ReadGeneration(n.resources, staged, o.Revision).Defects.Err() })
	if there {
		w.Do("exchange", name, func() error { return n.resources.Exchange(staged, name) })
		w.Sync(dir)
		w.Remove(staged)
	} else {
		w.Rename(staged, name)
	}
	w.Sync(dir)
	return true
}
