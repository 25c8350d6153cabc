// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// besideMutants are broken in what the anchors beside a leaf mean, and are hunted where everybody verifies by them.
func besideMutants() []mutant {
	events := []string{"leader", "crash", "time"}
	broken := []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
	return []mutant{
		{
			name: "the anchors beside a leaf are nobody's", make: believing(besideIsNobodys), shape: besidePromisers,
			only: events, breaks: broken,
		},
		{
			name: "publish before ca.crt has it", make: acting(publishFirst), shape: besidePromisers,
			only: events, often: []string{"crash"}, breaks: broken,
		},
	}
}

// besidePromisers are worlds in which everybody verifies by what is beside its leaf, and has promised to load it within a time.
func besidePromisers(t *topology) {
	promisers(t)
	t.beside = true
}

// besideIsNobodys does not know of what is beside a leaf.
func besideIsNobodys(d *trust.Domain, _ time.Time) {
	d.Leaves = slices.Clone(d.Leaves)
	for i := range d.Leaves {
		d.Leaves[i].Anchors = nil
	}
}

// publishFirst has the bundle gain an anchor before the Secrets of leaves do.
func publishFirst(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	next := d.Signer.Next
	if next == nil || published(d, next) || !slices.ContainsFunc(a.Actions, func(x trust.Action) bool { return x.Kind == trust.UpdateLeafAnchors }) {
		return
	}
	a.Actions = []trust.Action{bundleAction(d, trust.PublishAnchors, append(slices.Clone(d.Bundle.Anchors), []*pki.Certificate{next}...)...)}
}
