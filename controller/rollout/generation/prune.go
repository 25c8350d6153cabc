// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Pruned says what Prune has removed and what it has left alone.
type Pruned struct {
	// Removed are paths below the resource directory.
	Removed []string
	// Kept are directories and generations that were up for removal, and why they are still there.
	Kept []Finding
}

// Prune removes the directories of revisions up to maxEligible that are not protected, and in the directories that it
// keeps the generations of such revisions. Whatever the arguments say, it keeps what the manifest of kubelet mentions,
// what the pointer of a kept directory names, and a directory that holds a protected generation. Without a manifest it
// removes nothing: a person may have moved the manifest away to stop the pod, and will put it back.
func (n *Node) Prune(ctx context.Context, protected sets.Set[int], maxEligible int) (Pruned, error) {
	release, err := n.acquire(ctx)
	if err != nil {
		return Pruned{}, err
	}
	p := &pruning{node: n, w: &writer{fs: n.resources}, protected: protected, maxEligible: maxEligible}
	err = p.run(ctx)
	return p.done, errors.Join(err, release())
}

type pruning struct {
	node        *Node
	w           *writer
	protected   sets.Set[int]
	maxEligible int
	named       map[int]bool
	done        Pruned
}

func (p *pruning) run(ctx context.Context) error {
	manifest := p.node.layout.manifestName()
	text, err := p.node.manifests.ReadFile(manifest, maxManifestBytes)
	if notExist(err) {
		p.keep(NoManifest, manifest, "there is none, so nothing says what is in use: nothing is removed until it is back")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the manifest %s: %w", manifest, err)
	}
	p.named = p.node.layout.named(text)
	if err := p.node.clean(); err != nil {
		return err
	}
	entries, err := p.node.resources.ReadDirectory(".")
	if err != nil {
		return fmt.Errorf("list %s: %w", p.node.layout.ResourceDirectory, err)
	}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return fmt.Errorf("stop pruning: %w", context.Cause(ctx))
		}
		revision, ours, ok := p.node.layout.revisionOf(entry.Name())
		switch {
		case ok && entry.IsDir():
			p.directory(entry.Name(), revision)
		case ours:
			p.keep(NotARevision, entry.Name(), "it is no directory of a revision: it is left alone")
		}
	}
	if p.w.err != nil {
		return fmt.Errorf("prune: %w", p.w.err)
	}
	return nil
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
		p.keep(InUse, dir, "the manifest names it")
	case protects:
		p.keep(InUse, dir, "it holds a protected generation")
	default:
		p.remove(dir)
		return
	}
	p.pruneGenerations(dir, generations)
}

func (p *pruning) generations(dir string) []int {
	entries, err := p.node.resources.ReadDirectory(dir)
	p.w.do("list", dir, func() error { return err })
	var out []int
	for _, entry := range entries {
		if number, ok := parseGenerationName(entry.Name()); ok && entry.IsDir() {
			out = append(out, number)
		}
	}
	return out
}

// pruneGenerations removes generations of a directory that stays. Without a pointer that can be read, none of them.
func (p *pruning) pruneGenerations(dir string, generations []int) {
	current, findings := readPointer(p.node.resources, dir)
	if len(findings) > 0 {
		for _, f := range below(dir, findings) {
			p.keep(f.Reason, f.Path, "%s: no generation of %s is removed", f.Message, dir)
		}
		return
	}
	for _, number := range generations {
		if number != current && p.eligible(number) {
			p.remove(path.Join(dir, Name(number)))
		}
	}
}

func (p *pruning) remove(name string) {
	p.w.retire(name)
	if p.w.err == nil {
		p.done.Removed = append(p.done.Removed, name)
	}
}

func (p *pruning) keep(reason Reason, name, format string, args ...any) {
	p.done.Kept = append(p.done.Kept, finding(reason, name, format, args...))
}
