// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/clientca"
)

// early is how far in the future the NotBefore of an early leaf is: further than a world lasts.
const early = 30 * 24 * time.Hour

// putsEarlyLeaf writes a leaf that is not valid yet into its Secret, past the guard. Peers refuse it until it is
// reissued.
func (w *world) putsEarlyLeaf() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	name := w.leafName(d)
	signer, live := w.api.secrets[d.Signer.Name], w.api.secrets[name]
	if signer == nil || live == nil || d.Signer.Active == nil || d.Signer.Problem != nil {
		return false
	}
	ca, err := activePair(signer)
	if err != nil {
		return false
	}
	pair, err := ca.Issue(leafOf(d, name).Policy.Profile, w.clock.now().Add(early))
	if err != nil {
		return false
	}
	changed := live.DeepCopy()
	if !fill(changed, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair) {
		return false
	}
	w.say("a leaf whose time has not come gets into %s", name)
	w.counts.event(earlyLeaf)
	if w.early == nil {
		w.early = map[pki.Fingerprint]bool{}
	}
	w.early[pair.Certificate.Fingerprint] = true
	w.api.putSecret(changed, w.clock.now())
	w.objectWritten()
	return true
}

// bringsUnfitNext writes a next CA that may sign only client leaves, past the guard.
func (w *world) bringsUnfitNext() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	live := w.api.secrets[d.Signer.Name]
	if s := &d.Signer; live == nil || s.Problem != nil || s.Active == nil || s.Next != nil || !in(w.dice, 3, "unfit next") {
		return false
	}
	pair, err := clientca.New(w.clock.now())
	changed := live.DeepCopy()
	if err != nil || !fill(changed, inventory.NextCertKey, inventory.NextKeyKey, pair) {
		return false
	}
	w.say("a next CA that may sign leaves of clients only gets into %s", d.Signer.Name)
	w.counts.event(unfitNext)
	w.api.putSecret(changed, w.clock.now())
	w.objectWritten()
	return true
}

// unfitMutants are wrong about certificates that got past the guard.
func unfitMutants() []mutant {
	return []mutant{
		{name: "a leaf whose time has not come is fine", make: acting(keepsEarly), often: []string{"early leaf"}},
		{name: "who is trusted may sign anything", make: acting(promoteUnfit), rare: true, often: []string{"unfit next"}},
	}
}

// keepsEarly does not reissue a leaf that is not valid yet.
func keepsEarly(d *trust.Domain, now time.Time, a *trust.Assessment) {
	a.Actions = slices.DeleteFunc(a.Actions, func(x trust.Action) bool {
		if x.Kind != trust.IssueLeaf {
			return false
		}
		l := d.Leaf(x.Object)
		return l != nil && l.Certificate != nil && l.Certificate.NotBefore.After(now)
	})
}

// promoteUnfit promotes a CA that every member trusts, whatever it may sign.
func promoteUnfit(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	unfit := func(b trust.Blocker) bool { return b.Reason == trust.ReasonUnfitSigner }
	others := func(b trust.Blocker) bool { return !unfit(b) }
	if d.Signer.Next != nil && slices.ContainsFunc(a.Blockers, unfit) && !slices.ContainsFunc(a.Blockers, others) {
		a.Actions, a.Blockers = []trust.Action{signerAction(d, trust.Promote)}, nil
	}
}
