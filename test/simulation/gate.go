// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"certrotation.dev/registry/trust"
)

// begins starts the container of a pod with what its kubelet has mounted. A program that reloads its files starts
// with just that. For other programs, mounted files only become newer. Before the first start, the gates wait until
// the content that the template names is mounted. What is read behind them may already be newer.
func (w *world) begins(p *process, trusted, leaves *publication, silent bool) bool {
	o := p.pod
	if !o.workload.startsOnly() {
		return w.startsWith(p, trusted, leaves, silent)
	}
	trusted, leaves = w.newer(trusted, o.trusted), w.newer(leaves, o.leaves)
	if o.starts == 0 {
		switch {
		case o.template.gated:
			if trusted, leaves = w.behindGate(o, trust.ConfigMapKind, trusted), w.behindGate(o, trust.SecretKind, leaves); trusted == nil || leaves == nil {
				w.counts.event(heldAtGate)
				return false
			}
		case w.topology.assumed:
			trusted, leaves = w.newer(trusted, w.named(o, trust.ConfigMapKind)), w.newer(leaves, w.named(o, trust.SecretKind))
		}
	}
	if !w.startsWith(p, trusted, leaves, true) {
		return false
	}
	p.provenTrusts, p.provenPresents = nil, nil
	return true
}

// newer returns the later one of two publications.
func (w *world) newer(x, y *publication) *publication {
	if slices.Index(w.published, y) > slices.Index(w.published, x) {
		return y
	}
	return x
}

// behindGate returns what is read of a kind of files behind their gates, nil if the gates do not open.
func (w *world) behindGate(o *pod, kind trust.ObjectKind, mounted *publication) *publication {
	latest := w.latestPublication()
	switch {
	case latest.opens(kind, o):
		if !mounted.opens(kind, o) {
			mounted = latest
		}
		return mounted
	case !mounted.opens(kind, o):
		return nil
	case in(w.dice, 3, "the kubelet mounts something newer behind the gate"):
		w.counts.event(newerBehindGate)
		return latest
	}
	return mounted
}

// named returns the latest remembered publication with the content that a pod's template names, nil if there is
// none.
func (w *world) named(o *pod, kind trust.ObjectKind) *publication {
	for _, p := range slices.Backward(w.published) {
		if p.shows(kind, o) {
			return p
		}
	}
	return nil
}

// notesContents records the present contents.
func (w *world) notesContents() {
	if w.contents == nil {
		w.contents = map[string]bool{}
	}
	for object, hash := range w.latestPublication().hashes {
		w.contents[object+"="+hash] = true
	}
}

// repeats reports whether an object would get a content that it had before. A pod that started in between could not
// tell which of the two it has read.
func (w *world) repeats(object, hash string) bool {
	return len(w.published) > 0 && hash != "" && hash != w.latestPublication().hashes[object] && w.contents[object+"="+hash]
}
