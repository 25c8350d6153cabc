// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// losesBundle deletes a bundle at any time, past the guard, as a restore from a backup may do. It does so only if
// the bundle can be rebuilt: from the slots of the signer, and from the former CAs beside the leaves in Secrets.
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

// spoilsLeaf writes an invalid certificate into the Secret of a leaf, past the guard. Its holders keep what they
// have loaded.
func (w *world) spoilsLeaf() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	if len(d.Leaves) == 0 {
		return false
	}
	l := one(w.dice, "leaf", d.Leaves)
	live := w.api.secrets[l.Name]
	if live == nil || l.Problem != nil || !d.Bundle.Present {
		// The Secret may be the only place that has the former CAs.
		return false
	}
	w.say("the Secret of %s is spoilt", l.Name)
	w.counts.faults["spoilt leaf"]++
	spoilt := live.DeepCopy()
	spoilt.Data[inventory.ActiveCertKey] = []byte("no certificate")
	if w.spoilt == nil {
		w.spoilt = map[string]bool{}
	}
	w.spoilt[l.Name] = true
	w.api.putSecret(spoilt, w.clock.now())
	w.objectWritten()
	return true
}

// deletesAllSecrets is `kubectl delete secrets --all` while the processes run. The guard judges each deletion.
func (w *world) deletesAllSecrets() bool {
	before := w.counts.edits
	for _, name := range slices.Sorted(maps.Keys(w.api.secrets)) {
		w.apply(&edit{what: "deletes all Secrets, among them " + name, kind: trust.SecretKind, name: name})
	}
	if w.counts.edits == before {
		return false
	}
	w.counts.event(deletedAll)
	return true
}

// losesAll deletes signer, leaves and bundle of a domain past the guard, when the evidence of probes has lapsed. A
// process that loads the new bundle refuses older leaves, which no controller can prevent. No leaf that is issued
// later may be refused.
func (w *world) losesAll() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	if d.Roster == nil || !d.Roster.Issued || !in(w.dice, 3, "everything is lost") {
		return false
	}
	w.pass(2 * probeLease)
	w.say("everything of %s is lost but what is recorded of it", d.Name)
	w.counts.event(lostAll)
	w.noteIssuers(d)
	w.mountsBundles()
	for i := range d.Leaves {
		if name := d.Leaves[i].Name; w.api.secrets[name] != nil {
			w.api.deleteSecret(name)
		}
	}
	if w.api.secrets[d.Signer.Name] != nil {
		w.api.deleteSecret(d.Signer.Name)
	}
	if w.api.configMaps[d.Bundle.Name] != nil {
		w.api.deleteConfigMap(d.Bundle.Name)
	}
	w.objectWritten()
	return true
}

// mountsBundles makes processes that verify by the anchors beside a leaf mount the bundle instead: without the leaf
// they could load no anchors.
func (w *world) mountsBundles() {
	if !w.topology.beside {
		return
	}
	w.say("somebody has everybody mount the bundle")
	w.topology.beside = false
	for _, p := range w.processes {
		if p.up {
			w.load(p, onlyTrust)
		}
	}
}

// noteIssuers records the issuers of the leaves in Secrets, in processes, and in backups of their disks.
func (w *world) noteIssuers(d *trust.Domain) {
	if w.lost == nil {
		w.lost = map[string]bool{}
	}
	note := func(c *pki.Certificate) {
		switch {
		case c == nil:
		case d.Issuer != "":
			// The CA may not be lost, and another one has its subject.
			w.abandon(c)
		default:
			w.lost[c.Issuer] = true
		}
	}
	for i := range d.Leaves {
		note(d.Leaves[i].Certificate)
	}
	for _, p := range w.processes {
		for _, name := range p.held(d.Name) {
			note(p.leaves[name])
			if p.before != nil {
				note(p.before.leaves[name])
			}
		}
	}
}

// beyondHelp reports whether no rule can save a leaf: its last holder is proven to be gone, or its CA was lost with
// everything.
func (w *world) beyondHelp(leaf *pki.Certificate) bool {
	return w.abandoned[leaf.Fingerprint] || w.lost[leaf.Issuer]
}

// rebuildable reports whether the CAs of all live leaves are known without the bundle.
func (w *world) rebuildable(d *trust.Domain) bool {
	slots := slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous)
	for _, ca := range d.Bundle.Anchors {
		if slices.ContainsFunc(slots, ca.Equal) || w.signedBy(d, ca) == "" {
			continue
		}
		carried := slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool {
			return l.Certificate != nil && !l.Certificate.Expired(w.clock.now()) && l.Certificate.SignedBy(ca)
		})
		if !carried || d.Issuer != "" || !pki.IsGenerationOf(ca.CommonName, namespace, d.Signer.Name) {
			return false
		}
	}
	return true
}
