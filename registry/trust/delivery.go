// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
)

func (a *proofs) deliversAll(p *Party, m *Member) proof {
	other := func(o *Observation) bool { return o.Failure == "" && a.presentsOther(m, o) }
	waived := a.waiver(p, m) != nil && !slices.ContainsFunc(a.observations[m], other)
	if waived || (m.Pod != nil && a.idle[m]) {
		return proven
	}
	for _, name := range m.Holds {
		if v := a.delivers(p, m, name); !v.proven {
			return v
		}
	}
	return proven
}

// delivers returns whether there is evidence that a member presents the current content of a leaf that it holds, and
// nothing older.
func (a *proofs) delivers(p *Party, m *Member, name string) proof {
	l := a.leaves[name]
	if l == nil && !a.rostered(name) && (!p.recorded || a.idle[m]) {
		return proven
	}
	if l == nil {
		return proof{reason: ReasonLeafNotPresented, message: fmt.Sprintf(
			"may still present Secret/%s, which the configuration does not name any more: name it again, or waive the member", name)}
	}
	if l.Certificate == nil {
		return proof{reason: ReasonLeafNotPresented, message: fmt.Sprintf("holds Secret/%s, which does not exist or cannot be read", l.Name)}
	}
	switch p.Kind.traits().basis {
	case onStatement:
		return proven
	case onRenewal:
		return a.deliversAfter(p, l)
	case onTime:
		return a.waitsFor(p, l.issuedAt(), "is in its grace period for Secret/"+l.Name+" until ", "")
	case onObservation:
	}
	return a.deliversByObservation(p, m, l)
}

func (a *proofs) deliversByObservation(p *Party, m *Member, l *Leaf) proof {
	seen, missing := a.observed(p, m)
	if len(seen) == 0 {
		return missing
	}
	kind, addresses := p.Kind.traits(), m.presentedAt(l.Name)
	if kind.handshake && len(addresses) == 0 {
		return proof{reason: ReasonLeafNotPresented, message: fmt.Sprintf(
			"presents Secret/%s at no address that is probed: declare the address that presents it", l.Name)}
	}
	for _, o := range seen {
		if kind.handshake && !slices.Contains(addresses, o.Address) {
			continue
		}
		if !slices.Contains(o.Presents, l.Certificate.Fingerprint) {
			return proof{reason: ReasonLeafNotPresented, message: fmt.Sprintf(
				"does not present the current Secret/%s yet: %s", l.Name, kind.stale)}.by(o, seen)
		}
		if a.presentsOther(m, o) {
			return proof{reason: ReasonLeafNotPresented, message: fmt.Sprintf(
				"still presents another leaf than the current Secret/%s: %s", l.Name, kind.stale)}.by(o, seen)
		}
	}
	return proven
}

// presentsOther reports whether a process was observed to present anything but the current leaves of its member. An
// address that presents no leaf of the domain may present anything.
func (a *proofs) presentsOther(m *Member, o *Observation) bool {
	for i := range m.Probes {
		if m.Probes[i].Address == o.Address && m.Probes[i].Presents == "" {
			return false
		}
	}
	current := make(map[pki.Fingerprint]bool, len(m.Holds))
	for _, name := range m.Holds {
		if l := a.leaves[name]; l != nil && l.Certificate != nil {
			current[l.Certificate.Fingerprint] = true
		}
	}
	return slices.ContainsFunc(o.Presents, func(f pki.Fingerprint) bool { return !current[f] })
}

// undelivering lists the members without evidence of presenting all their current leaves. It adds live leaves without
// a known holder: an older content of those may be live anywhere.
func (a *proofs) undelivering() lacking {
	out := lacking{until: moments{now: a.now}}
	for _, p := range a.parties {
		out.blockers = append(out.blockers, p.unlisted()...)
	}
	for p, m := range each(a.parties) {
		out.add(p, m, a.deliversAll(p, m))
	}
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if a.live(l) && !a.held[l.Name] {
			out.blockers = append(out.blockers, Blocker{
				Object: secret(l.Name), Reason: ReasonNoHolder,
				Message: "no relying party is known to present this leaf, so nothing tells whether an older one is still live: " +
					"name who presents it, or say with the evidence kind none why that need not be known" + neverPopulated(a.presenters(l.Name)),
			})
		}
	}
	return out
}

// presenters returns the parties of pods whose pods present a leaf.
func (a *proofs) presenters(leaf string) []*Party {
	return slices.DeleteFunc(slices.Clone(a.parties), func(p *Party) bool { return !slices.Contains(p.Presents, leaf) })
}

// undeliveringOf returns the members for which the anchor of a former CA stays. If the CA is recorded to have signed
// nothing, only members observed with other than their current leaves remain, no matter which CA signed those. After
// a full restore the record may be older than such a leaf.
func (a *proofs) undeliveringOf(ca *pki.Certificate) []Blocker {
	blockers := a.undelivered.blockers
	if !a.neverSigned(ca) {
		return blockers
	}
	seen := map[string]bool{}
	for p, m := range each(a.parties) {
		other := func(o *Observation) bool { return a.presentsOther(m, o) }
		if slices.ContainsFunc(a.observations[m], other) {
			seen[MemberName(p.Name, m.Name)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(blockers), func(b Blocker) bool { return !seen[MemberName(b.Party, b.Member)] })
}
