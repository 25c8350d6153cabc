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
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// Reasons to keep a candidate for removal, besides those of defects.
const (
	// InUse means that the manifest or a protected revision needs it.
	InUse nodepod.Reason = "InUse"
	// NotARevision means that the name is NAME-pod-SUFFIX, but no directory of a revision.
	NotARevision nodepod.Reason = "NotARevision"
)

// Pruned is the outcome of Prune.
type Pruned struct {
	// Removed are paths below the resource directory.
	Removed []string
	// Kept are directories and generations that were candidates for removal, and why they remain.
	Kept nodepod.Defects
}

// Prune removes unprotected directories of revisions up to maxEligible, and unprotected generations up to maxEligible
// in the remaining directories. It always keeps what a manifest of kubelet mentions, what the pointer of a kept
// directory names, and directories with a protected generation. If a manifest of the rollout is missing, it removes
// nothing: an operator may have moved it to stop the pod, and will restore it. Every manifest that kubelet runs
// counts, because one may belong to a former companion.
func (n *Node) Prune(ctx context.Context, protected sets.Set[int], maxEligible int) (Pruned, error) {
	release, err := n.lock(ctx)
	if err != nil {
		return Pruned{}, err
	}
	p := &pruning{node: n, w: &durable.Writer{FS: n.resources}, protected: protected, maxEligible: maxEligible}
	err = p.run(ctx)
	return p.done, errors.Join(err, release())
}

type pruning struct {
	node        *Node
	w           *durable.Writer
	protected   sets.Set[int]
	maxEligible int
	named       map[int]bool
	done        Pruned
}

func (p *pruning) run(ctx context.Context) error {
	if whole, err := p.readManifests(); err != nil || !whole {
		return err
	}
	if err := p.node.clean(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(p.node.resources, ".")
	if err != nil {
		return fmt.Errorf("list %s: %w", p.node.layout.ResourceDirectory, err)
	}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return fmt.Errorf("stop pruning: %w", context.Cause(ctx))
		}
		revision, ours, ok := p.node.layout.ParseDirectoryName(entry.Name())
		switch {
		case ok && entry.IsDir():
			p.directory(entry.Name(), revision)
		case ours:
			p.done.Kept.Add(NotARevision, entry.Name(), "it is no directory of a revision: it is left alone")
		}
	}
	if p.w.Err != nil {
		return fmt.Errorf("prune: %w", p.w.Err)
	}
	return nil
}

// readManifests finds the directories that manifests name. whole is false if a static pod of the rollout has no
// manifest.
func (p *pruning) readManifests() (whole bool, err error) {
	whole = true
	own := sets.New[string]()
	for _, pod := range p.node.layout.Pods() {
		own.Insert(pod.ManifestName())
		if _, err := fs.Lstat(p.node.manifests, pod.ManifestName()); errors.Is(err, fs.ErrNotExist) {
			p.done.Kept.Add(nodepod.ManifestMissing, pod.ManifestName(), "there is none, so nothing says what is in use: nothing is removed until it is back")
			whole = false
		}
	}
	entries, err := fs.ReadDir(p.node.manifests, ".")
	if err != nil {
		return false, fmt.Errorf("list %s: %w", p.node.layout.ManifestDirectory, err)
	}
	p.named = map[int]bool{}
	for _, entry := range entries {
		if !own.Has(entry.Name()) && !entry.Type().IsRegular() {
			continue
		}
		text, err := nodepod.ReadFile(p.node.manifests, entry.Name(), nodepod.MaxManifestBytes)
		if err != nil {
			return false, fmt.Errorf("read the manifest %s: %w", entry.Name(), err)
		}
		maps.Copy(p.named, p.node.layout.Mentioned(text))
	}
	return whole, nil
}

func (p *pruning) eligible(revision int) bool {
	return revision <= p.maxEligible && !p.protected.Has(revision)
}

func (p *pruning) directory(dir string, revision int) {
	generations := p.generations(dir)
	protects := slices.ContainsFunc(generations, p.protected.Has)
	switch {
	case !p.eligible(revision):
	case p.named[revision]:
		p.done.Kept.Add(InUse, dir, "the manifest names it")
	case protects:
		p.done.Kept.Add(InUse, dir, "it holds a protected generation")
	default:
		p.remove(dir)
		return
	}
	p.pruneGenerations(dir, generations)
}

func (p *pruning) generations(dir string) []int {
	entries, err := fs.ReadDir(p.node.resources, dir)
	p.w.Do("list", dir, func() error { return err })
	var out []int
	for _, entry := range entries {
		if number, ok := nodepod.ParseGenerationName(entry.Name()); ok && entry.IsDir() {
			out = append(out, number)
		}
	}
	return out
}

// pruneGenerations removes generations of a kept directory. If its pointer is unreadable, it removes none.
func (p *pruning) pruneGenerations(dir string, generations []int) {
	pointer := p.node.layout.ReadPointer(p.node.resources, dir)
	for _, d := range pointer.Defects {
		p.done.Kept.Add(d.Reason, path.Join(dir, nodepod.PointerName), "%s: no generation of %s is removed", d.Message, dir)
	}
	if len(pointer.Defects) > 0 {
		return
	}
	for _, number := range generations {
		if number != pointer.Generation && p.eligible(number) {
			p.remove(path.Join(dir, nodepod.GenerationName(number)))
		}
	}
}

func (p *pruning) remove(name string) {
	p.w.Retire(name)
	if p.w.Err == nil {
		p.done.Removed = append(p.done.Removed, name)
	}
}
