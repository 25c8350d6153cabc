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

	"certrotation.dev/registry/revision"
)

// Result says what an installation has done.
type Result struct {
	// Changed is false if everything was in its place.
	Changed bool
	// Restart tells whether the manifest was replaced, so that kubelet restarts the pod.
	Restart bool
	// Directory is that of the manifest, Generation that of the pointer.
	Directory  int
	Generation int
}

// Install puts a revision on the node, or completes that. It waits for the lock until ctx ends, and also stops between
// two steps when ctx ends; then, as after any error, what was installed before is still whole and in use, or the new
// revision is. It refuses with ErrNewer or ErrContent before it writes anything.
func (n *Node) Install(ctx context.Context, request Request) (Result, error) {
	o, err := request.check()
	if err != nil {
		return Result{}, err
	}
	manifest, err := o.manifest(n.layout, o.Revision)
	if err != nil {
		return Result{}, err
	}
	release, err := n.acquire(ctx)
	if err != nil {
		return Result{}, err
	}
	result, err := n.install(ctx, o, manifest)
	return result, errors.Join(err, release())
}

func (n *Node) install(ctx context.Context, o *order, manifest []byte) (Result, error) {
	installed, err := n.before(o)
	if err != nil {
		return Result{}, err
	}
	if err := n.checkExpiry(installed, o); err != nil {
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
		// The manifest of the directory stays; the one of kubelet is what was just read.
		result.Directory = installed.Revision
		if manifest, err = o.manifest(n.layout, installed.Revision); err != nil {
			return Result{}, err
		}
	}
	resources, manifests := &writer{fs: n.resources}, &writer{fs: n.manifests}
	dir := n.layout.directory(result.Directory)
	for _, step := range []func(){
		func() { n.ensureDirectory(resources, dir) },
		func() { result.Changed = n.ensureGeneration(resources, dir, o) },
		func() {
			result.Changed = resources.file(path.Join(dir, n.layout.manifestName()), manifest) || result.Changed
		},
		func() {
			result.Changed = resources.link(Name(o.Revision), path.Join(dir, PointerName)) || result.Changed
		},
		func() {
			if inPlace {
				return
			}
			result.Restart = manifests.file(n.layout.manifestName(), manifest)
			result.Changed = result.Changed || result.Restart
		},
	} {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("stop before revision %d is installed: %w", o.Revision, context.Cause(ctx))
		}
		step()
		if err := errors.Join(resources.err, manifests.err); err != nil {
			return Result{}, fmt.Errorf("install revision %d: %w", o.Revision, err)
		}
	}
	return result, n.settle(manifests)
}

// settle has a manifest that stays last, which an earlier run may have replaced and not synced, with its mode as it should be.
func (n *Node) settle(manifests *writer) error {
	name := n.layout.manifestName()
	if len(checkManifestMode(n.manifests, name)) > 0 {
		manifests.do("set the mode of", name, func() error { return n.manifests.Chmod(name, fileMode) })
	}
	manifests.sync(".")
	return manifests.err
}

// before reads what is installed and refuses what may not follow it. A manifest that the installer has not made counts as
// none: it is replaced.
func (n *Node) before(o *order) (*Manifest, error) {
	installed, err := n.layout.readManifest(n.manifests, n.layout.manifestName())
	if f, ok := errors.AsType[Finding](err); ok && f.Reason != Unreadable {
		return nil, nil //nolint:nilnil // no manifest is not an error
	}
	if err != nil {
		return nil, err
	}
	if installed.Revision > o.Revision {
		return nil, fmt.Errorf("%w: its manifest is of revision %d, asked for was %d", ErrNewer, installed.Revision, o.Revision)
	}
	dir := n.layout.directory(installed.Revision)
	current, findings := readPointer(n.resources, dir)
	if len(findings) > 0 {
		return installed, nil
	}
	if current > o.Revision {
		return nil, fmt.Errorf("%w: %s points at generation %d, asked for was %d", ErrNewer, path.Join(dir, PointerName), current, o.Revision)
	}
	g := readGeneration(n.resources, path.Join(dir, Name(current)), current)
	if current == o.Revision && g.Verified() && !g.holds(o) {
		return nil, fmt.Errorf("%w: revision %d is on this node with other content: a revision never changes, make a new one", ErrContent, current)
	}
	return installed, nil
}

// holds tells whether a generation is what the order would write.
func (g *Generation) holds(o *order) bool {
	return g.Verified() && g.Record.ContentHash == o.record.ContentHash && g.Record.RestartHash == o.record.RestartHash &&
		g.Record.Node == o.record.Node && maps.Equal(g.Record.Files, o.record.Files)
}

// canReload tells whether the pod of that manifest would run the order without a restart: the order is equal in all that
// the process reads at its start, and its manifest differs in nothing but the revision.
func (n *Node) canReload(installed *Manifest, o *order) (bool, error) {
	if installed == nil || installed.RestartHash != o.RestartHash {
		return false, nil
	}
	dir := n.layout.directory(installed.Revision)
	if mode, err := n.resources.Mode(dir); err != nil || !mode.IsDir() {
		return false, nil //nolint:nilerr // what the pod mounts is gone: it needs another directory, and a restart
	}
	text, err := o.manifest(n.layout, installed.Revision)
	if err != nil {
		return false, err
	}
	pod, err := revision.ParsePod(text)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(pod, installed.Pod), nil
}

func (n *Node) ensureDirectory(w *writer, dir string) {
	there, err := isDirectory(n.resources, dir)
	w.do("make directory", dir, func() error { return err })
	if !there {
		w.mkdir(dir)
	} else if mode, err := n.resources.Mode(dir); err == nil && mode != directoryMode|fs.ModeDir {
		w.do("set the mode of", dir, func() error { return n.resources.Chmod(dir, directoryMode) })
	}
	w.sync(".")
}

// ensureGeneration writes the generation, unless it is there and whole. One that is damaged is exchanged at once: the
// pointer may name it.
func (n *Node) ensureGeneration(w *writer, dir string, o *order) (changed bool) {
	name := path.Join(dir, Name(o.Revision))
	there, err := isDirectory(n.resources, name)
	w.do("write generation", name, func() error { return err })
	if there && readGeneration(n.resources, name, o.Revision).holds(o) {
		w.sync(dir)
		return false
	}
	record, err := o.record.Encode()
	w.do("write generation", name, func() error { return err })
	w.tree(staged(name), o.files, record)
	w.do("verify", staged(name), func() error {
		return asError(readGeneration(n.resources, staged(name), o.Revision).Findings)
	})
	if there {
		w.do("exchange", name, func() error { return n.resources.Exchange(staged(name), name) })
		w.sync(dir)
		w.remove(staged(name))
	} else {
		w.rename(staged(name), name)
	}
	w.sync(dir)
	return true
}
