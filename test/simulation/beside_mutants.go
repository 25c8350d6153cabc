// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// besideMutants are wrong about the anchors beside a leaf. They are hunted where every member verifies by those.
func besideMutants() []mutant {
	events := []string{"leader", "crash", "rotate", "time"}
	broken := []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
	return []mutant{
		{
			name: "the anchors beside a leaf are nobody's", make: believing(besideIsNobodys), shape: besidePromisers,
			only: events, breaks: broken,
		},
		{
			name: "publish before ca.crt has it", make: believing(besideHasNext), shape: besidePromisers,
			only: events, often: []string{"crash", "time"}, breaks: broken,
		},
	}
}

// besidePromisers makes worlds in which every member verifies by what is beside its leaf, and has promised to load
// it within a time.
func besidePromisers(t *topology) {
	promisers(t)
	t.beside = true
}

// besideIsNobodys ignores the anchors beside a leaf.
func besideIsNobodys(d *trust.Domain, _ time.Time) {
	d.Leaves = slices.Clone(d.Leaves)
	for i := range d.Leaves {
		d.Leaves[i].Anchors = nil
	}
}

// besideHasNext pretends that next is beside every leaf until the bundle has it, so that the bundle gains it first.
func besideHasNext(d *trust.Domain, _ time.Time) {
	next := d.Signer.Next
	if next == nil || published(d, next) {
		return
	}
	d.Leaves = slices.Clone(d.Leaves)
	for i := range d.Leaves {
		if l := &d.Leaves[i]; len(l.Anchors) > 0 && !slices.ContainsFunc(l.Anchors, next.Equal) {
			l.Anchors = append(slices.Clone(l.Anchors), next)
		}
	}
}
