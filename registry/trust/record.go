// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"

	"certrotation.dev/registry/pki"
)

// toRecord returns what must be recorded of the members that count now.
func (a *roster) toRecord() *Roster {
	out := &Roster{Signers: []string{a.d.Signer.Name}, Populated: a.populated()}
	byMember := map[string]*RosterMember{}
	// The parties are nearly in the order of a roster.
	var keys []string
	for p, m := range each(a.parties) {
		r := a.rosterMember(p, m)
		key := AbsenceKey(r)
		if before := byMember[key]; before != nil {
			before.join(r)
			continue
		}
		byMember[key] = r
		keys = append(keys, key)
	}
	out.MayHaveSigned, out.NeverSigned = a.unpromoted()
	out.Issued = a.issued()
	if before := a.d.Roster; before != nil {
		out.ResourceVersion = before.ResourceVersion
		out.Signers = append(out.Signers, before.Signers...)
		if !a.unrotated {
			out.Leaves = a.unreleased(before.Leaves)
		}
		keys = append(keys, a.markAbsences(byMember, before)...)
	}
	for i := range a.d.Leaves {
		out.Leaves = append(out.Leaves, a.d.Leaves[i].Name)
	}
	for _, key := range keys {
		if r := byMember[key]; r != nil {
			out.Members = append(out.Members, *r)
		}
	}
	slices.SortFunc(out.Members, compareMembers)
	out.Signers, out.Leaves = sortedSet(out.Signers), sortedSet(out.Leaves)
	return out
}

// unpromoted returns the roster's lists of CAs that were not promoted. They are kept after the rotation: a reader
// with a stale signer must not remove anything from them.
func (a *roster) unpromoted() (mayHaveSigned, neverSigned []pki.Fingerprint) {
	next, before := a.d.Signer.Next, a.d.Roster
	switch {
	case before != nil:
		mayHaveSigned, neverSigned = before.MayHaveSigned, before.NeverSigned
	case next != nil:
		// The record of next is lost.
		mayHaveSigned = []pki.Fingerprint{next.Fingerprint}
	}
	if next != nil && !a.dropsNext() {
		// The abort was withdrawn.
		neverSigned = slices.DeleteFunc(slices.Clone(neverSigned), func(f pki.Fingerprint) bool { return f == next.Fingerprint })
	}
	return mayHaveSigned, neverSigned
}

func latest(list []pki.Fingerprint, ca *pki.Certificate) []pki.Fingerprint {
	list = append(slices.Clone(list), ca.Fingerprint)
	return list[max(0, len(list)-MaxUnpromoted):]
}

// markAbsences records the proofs that members are gone. Absent members stay in the roster while a rotation lasts,
// for people, and while a leaf exists that they alone presented. A pod that is gone leaves at once, as no other pod
// has its UID. It returns the keys of the members that it adds.
func (a *roster) markAbsences(members map[string]*RosterMember, before *Roster) (added []string) {
	for i := range before.Members {
		if a.named.of(&before.Members[i]) != nil {
			continue
		}
		r := before.Members[i]
		r.Observations = nil
		switch counts := members[AbsenceKey(&r)]; {
		case counts != nil && r.Pod && a.d.Absences[AbsenceKey(&r)] != "":
			delete(members, AbsenceKey(&r))
		case counts != nil:
			counts.Absent = a.d.Absences[AbsenceKey(&r)]
		case r.Absent != "" && !r.Pod && (!a.unrotated || slices.ContainsFunc(r.Presents, func(name string) bool { return a.leaves[name] != nil && !a.held[name] })):
			members[AbsenceKey(&r)] = &r
			added = append(added, AbsenceKey(&r))
		}
	}
	return added
}

func (a *roster) rosterMember(p *Party, m *Member) *RosterMember {
	return &RosterMember{
		Party: p.Name, Member: m.Name, Instance: m.Instance, Pod: m.Pod != nil, Kind: p.Kind, Grace: p.Grace,
		Verifies: sortedSet(p.Verifies), VerifiesNothing: p.VerifiesNothing, Presents: sortedSet(m.Holds), Started: !a.idle[m],
	}
}

// populated returns the names of the configured parties of pods that have a pod now, or had one by the roster.
func (a *roster) populated() []string {
	var out []string
	for i := range a.d.Parties {
		p := &a.d.Parties[i]
		if p.OfPods && (len(p.Members) > 0 || a.d.Roster != nil && slices.Contains(a.d.Roster.Populated, p.populatedName())) {
			out = append(out, p.populatedName())
		}
	}
	return sortedSet(out)
}
