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
	"certrotation.dev/registry/nodedisk"
)

// Reasons to keep something that was up for removal, beside those of defects.
const (
	// InUse is what the manifest or a protected revision needs.
	InUse nodedisk.Reason = "InUse"
	// NotARevision is a name NAME-pod-SUFFIX whose suffix is no revision.
	NotARevision nodedisk.Reason = "NotARevision"
)

// Pruned says what Prune has removed and what it has left alone.
type Pruned struct {
	// Removed are paths below the resource directory.
	Removed []string
	// Kept are directories and generations that were up for removal, and why they are still there.
	Kept nodedisk.Defects
}

// Prune removes the directories of revisions up to maxEligible that are not protected, and in the directories that it
// keeps the generations of such revisions. Whatever the arguments say, it keeps what a manifest of kubelet mentions,
// what the pointer of a kept directory names, and a directory that holds a protected generation. Without a manifest it
// removes nothing: a person may have moved the manifest away to stop the pod, and will put it back. Any manifest counts that
// kubelet runs: one may be that of a static pod which is no companion any more.
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

// readManifests finds out which directories are named. It is not whole if a static pod of the rollout has no manifest.
func (p *pruning) readManifests() (whole bool, err error) {
	whole = true
	own := sets.New[string]()
	for _, pod := range p.node.layout.Pods() {
		own.Insert(pod.ManifestName())
		if _, err := fs.Lstat(p.node.manifests, pod.ManifestName()); errors.Is(err, fs.ErrNotExist) {
			p.done.Kept.Add(nodedisk.ManifestMissing, pod.ManifestName(), "there is none, so nothing says what is in use: nothing is removed until it is back")
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
		text, err := nodedisk.ReadFile(p.node.manifests, entry.Name(), nodedisk.MaxManifestBytes)
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
		if number, ok := nodedisk.ParseGenerationName(entry.Name()); ok && entry.IsDir() {
			out = append(out, number)
		}
	}
	return out
}

// pruneGenerations removes generations of a directory that stays. Without a pointer that can be read, none of them.
func (p *pruning) pruneGenerations(dir string, generations []int) {
	pointer := p.node.layout.ReadPointer(p.node.resources, dir)
	for _, d := range pointer.Defects {
		p.done.Kept.Add(d.Reason, path.Join(dir, nodedisk.PointerName), "%s: no generation of %s is removed", d.Message, dir)
	}
	if len(pointer.Defects) > 0 {
		return
	}
	for _, number := range generations {
		if number != pointer.Generation && p.eligible(number) {
			p.remove(path.Join(dir, nodedisk.GenerationName(number)))
		}
	}
}

func (p *pruning) remove(name string) {
	p.w.Retire(name)
	if p.w.Err == nil {
		p.done.Removed = append(p.done.Removed, name)
	}
}
