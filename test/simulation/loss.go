// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// losesBundle deletes a bundle at any time, past the guard, as a restore of a backup may do. It happens only where the
// bundle can be rebuilt: from the slots of the signer, and from what the leaves in Secrets carry of former generations.
func (w *world) losesBundle() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	if !d.Bundle.Present || !w.rebuildable(d) {
		return false
	}
	w.say("the bundle %s is lost", d.Bundle.Name)
	w.counts.faults["lost bundle"]++
	w.api.deleteConfigMap(d.Bundle.Name)
	w.objectWritten()
	return true
}

// rebuildable says whether everything that live leaves chain to is known without the bundle.
func (w *world) rebuildable(d *trust.Domain) bool {
	slots := slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous)
	for _, ca := range d.Bundle.Anchors {
		if slices.ContainsFunc(slots, ca.Equal) || w.signedBy(d, ca) == "" {
			continue
		}
		carried := slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool {
			return l.Certificate != nil && !l.Certificate.Expired(w.clock.now()) && l.Certificate.SignedBy(ca)
		})
		if !carried || !pki.IsGenerationOf(ca.CommonName, namespace, d.Signer.Name) {
			return false
		}
	}
	return true
}
