// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ErrNotInstalled reports a node without a manifest of this static pod.
var ErrNotInstalled = errors.New("the static pod is not installed on this node")

// Installed is what the manifest of kubelet and the pointer beside it name.
type Installed struct {
	Manifest   Manifest
	Generation Generation
}

// Directory is NAME-pod-R as it is on the disk.
type Directory struct {
	Revision int
	// Path is below the resource directory.
	Path string
	// Manifest is nil if there is none, or none that can be read.
	Manifest *Manifest
	// Current is the number of the generation that the pointer names, 0 if it names none.
	Current int
	// Generations are sorted by their numbers.
	Generations []Generation
	// Findings about the directory, not those of its generations.
	Findings []Finding
}

// State is everything on the disk that belongs to the static pod.
type State struct {
	// Manifest of kubelet; nil if there is none, or none that the installer has made.
	Manifest *Manifest
	// Directories are sorted by their revisions.
	Directories []Directory
	// Findings about the whole, not those of single directories.
	Findings []Finding
}

// Installed returns what the node runs at its next start of the static pod: complete and verified, or it fails. The error
// is ErrNotInstalled, or holds each Finding.
func (n *Node) Installed() (*Installed, error) {
	manifest, err := n.layout.readManifest(n.manifests, n.layout.manifestName())
	if f, ok := errors.AsType[Finding](err); ok && f.Reason == NoManifest {
		return nil, fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	if err != nil {
		return nil, err
	}
	dir := n.layout.directory(manifest.Revision)
	if ok, err := isDirectory(n.resources, dir); err != nil || !ok {
		return nil, finding(MissingDirectory, dir, "the manifest mounts it, and it is not there")
	}
	current, findings := readPointer(n.resources, dir)
	if len(findings) > 0 {
		return nil, asError(below(dir, findings))
	}
	g := readGeneration(n.resources, path.Join(dir, Name(current)), current)
	if !g.Verified() {
		return nil, asError(below(g.Path, g.Findings))
	}
	return &Installed{Manifest: *manifest, Generation: *g}, nil
}

// readPointer returns the number of the generation that the pointer of a directory names.
func readPointer(fsys fileSystem, dir string) (int, []Finding) {
	name := path.Join(dir, PointerName)
	mode, err := fsys.Mode(name)
	switch {
	case notExist(err):
		return 0, []Finding{finding(NoPointer, PointerName, "there is none")}
	case err != nil:
		return 0, []Finding{finding(Unreadable, PointerName, "it cannot be looked at: %v", err)}
	case mode.Type() != fs.ModeSymlink:
		return 0, []Finding{finding(BadPointer, PointerName, "it is no symbolic link: %v", mode)}
	}
	target, err := fsys.ReadLink(name)
	if err != nil {
		return 0, []Finding{finding(Unreadable, PointerName, "it cannot be read: %v", err)}
	}
	number, ok := parseGenerationName(target)
	if !ok {
		return 0, []Finding{finding(BadPointer, PointerName, "%q is no generation of its own directory", target)}
	}
	if ok, err := isDirectory(fsys, path.Join(dir, target)); err != nil || !ok {
		return number, []Finding{finding(PointerDangling, PointerName, "%s is not there", target)}
	}
	return number, nil
}

// List reads everything and verifies it. It fails only if the directories cannot be listed.
func (n *Node) List() (*State, error) {
	state := &State{}
	manifest, err := n.layout.readManifest(n.manifests, n.layout.manifestName())
	if f, ok := errors.AsType[Finding](err); ok {
		state.Findings = append(state.Findings, f)
	}
	state.Manifest = manifest
	state.Findings = append(state.Findings, checkManifestMode(n.manifests, n.layout.manifestName())...)
	entries, err := n.resources.ReadDirectory(".")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", n.layout.ResourceDirectory, err)
	}
	for _, entry := range entries {
		revision, ours, ok := n.layout.revisionOf(entry.Name())
		switch {
		case ok && entry.IsDir():
			state.Directories = append(state.Directories, n.readDirectory(revision))
		case ours:
			state.Findings = append(state.Findings, finding(NotARevision, entry.Name(), "it is no directory of a revision: it is left alone"))
		case n.ownLeftover(entry.Name()):
			state.Findings = append(state.Findings, finding(Leftover, entry.Name(), "an interrupted run has left it: the next one removes it"))
		}
	}
	slices.SortFunc(state.Directories, func(a, b Directory) int { return a.Revision - b.Revision })
	if _, err := n.manifests.Mode(staged(n.layout.manifestName())); err == nil {
		state.Findings = append(state.Findings, finding(Leftover, staged(n.layout.manifestName()), "an interrupted run has left it: the next one removes it"))
	}
	if manifest != nil && !slices.ContainsFunc(state.Directories, func(d Directory) bool { return d.Revision == manifest.Revision }) {
		state.Findings = append(state.Findings, finding(MissingDirectory, n.layout.directory(manifest.Revision), "the manifest mounts it, and it is not there"))
	}
	return state, nil
}

func (n *Node) readDirectory(revision int) Directory {
	d := Directory{Revision: revision, Path: n.layout.directory(revision)}
	if mode, err := n.resources.Mode(d.Path); err == nil && mode.Perm() != directoryMode {
		d.Findings = append(d.Findings, finding(WrongMode, ".", "its mode is %v, want %v", mode, directoryMode|fs.ModeDir))
	}
	var err error
	if d.Manifest, err = n.layout.readManifest(n.resources, path.Join(d.Path, n.layout.manifestName())); err != nil {
		if f, ok := errors.AsType[Finding](err); ok {
			f.Path = path.Base(f.Path)
			d.Findings = append(d.Findings, f)
		}
	}
	d.Findings = append(d.Findings, checkManifestMode(n.resources, path.Join(d.Path, n.layout.manifestName()))...)
	current, findings := readPointer(n.resources, d.Path)
	d.Current, d.Findings = current, append(d.Findings, findings...)
	entries, err := n.resources.ReadDirectory(d.Path)
	if err != nil {
		d.Findings = append(d.Findings, finding(Unreadable, ".", "it cannot be listed: %v", err))
	}
	for _, entry := range entries {
		if number, ok := parseGenerationName(entry.Name()); ok && entry.IsDir() {
			d.Generations = append(d.Generations, *readGeneration(n.resources, path.Join(d.Path, entry.Name()), number))
		} else if leftover(entry.Name()) {
			d.Findings = append(d.Findings, finding(Leftover, entry.Name(), "an interrupted run has left it: the next one removes it"))
		}
	}
	slices.SortFunc(d.Generations, func(a, b Generation) int { return a.Number - b.Number })
	return d
}

// ownLeftover tells whether a name in the resource directory is a leftover of this static pod, and not of another one.
func (n *Node) ownLeftover(name string) bool {
	if !leftover(name) {
		return false
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name[1:], staging), removing)
	_, _, ok := n.layout.revisionOf(name)
	return ok
}
