// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"iter"
	"slices"

	"certrotation.dev/registry/pki"
)

// memberKey names a member. A member with two kinds of evidence is one member.
type memberKey struct{ party, member string }

func each(parties []*Party) iter.Seq2[*Party, *Member] {
	return func(yield func(*Party, *Member) bool) {
		for _, p := range parties {
			for i := range p.Members {
				if !yield(p, &p.Members[i]) {
					return
				}
			}
		}
	}
}

// assessMembers returns the state of each member, once, in the order of the parties.
func (a *assessor) assessMembers(stage Stage) []MemberAssessment {
	n := 0
	for _, p := range a.parties {
		n += len(p.Members)
	}
	out, twice := slices.Grow([]MemberAssessment(nil), n), repeated(a.parties)
	at := map[memberKey]int{}
	for p, m := range each(a.parties) {
		ma := a.assessMember(p, m)
		ma.Known = ma.Known || stage != Stable
		if !twice[p.Name] {
			out = append(out, ma)
			continue
		}
		key := memberKey{p.Name, m.Name}
		if k, twice := at[key]; twice {
			out[k] = ma.and(out[k])
			continue
		}
		at[key] = len(out)
		out = append(out, ma)
	}
	return out
}

func (a *assessor) assessMember(p *Party, m *Member) MemberAssessment {
	ma := MemberAssessment{
		Party: p.Name, Member: m.Name, Kind: p.Kind, Reason: p.assumption(),
		Verifies: !p.VerifiesNothing, Waiver: a.waiver(p, m), Known: !p.Kind.observed(),
	}
	for _, o := range a.observations[m] {
		ma.Known = true
		if o.ObservedAt.After(ma.LastChange) {
			ma.LastChange = o.ObservedAt
		}
	}
	delivery := a.deliversAll(p, m)
	ma.Delivered, ma.Message = delivery.proven, delivery.message
	if newest := a.newest(); newest != nil && ma.Verifies {
		trust := a.trusts(p, m, newest)
		ma.Trusted = trust.proven
		if !trust.proven {
			ma.Message = trust.message
		}
	}
	return ma
}

// repeated reports, by name, whether several parties have the name: they may share members.
func repeated(parties []*Party) map[string]bool {
	out := make(map[string]bool, len(parties))
	for _, p := range parties {
		_, again := out[p.Name]
		out[p.Name] = again
	}
	return out
}

// and combines two assessments of a member that needs two kinds of evidence.
func (m MemberAssessment) and(other MemberAssessment) MemberAssessment {
	if other.Message == "" {
		other.Message = m.Message
	}
	other.Trusted, other.Delivered = other.Trusted && m.Trusted, other.Delivered && m.Delivered
	other.Known, other.Verifies = other.Known && m.Known, other.Verifies || m.Verifies
	return other
}

// countTrust counts the verifying members of parties, and those that trust ca (none if ca is nil).
func (a *assessor) countTrust(parties []*Party, ca *pki.Certificate) (trusted, total int) {
	all, behind := map[memberKey]bool{}, map[memberKey]bool{}
	twice, once, late := repeated(parties), 0, 0
	for _, p := range parties {
		if p.VerifiesNothing {
			continue
		}
		if !twice[p.Name] {
			once += len(p.Members)
			if ca != nil {
				late += len(a.untrusting(p, ca).blockers) - len(p.unlisted())
			}
			continue
		}
		for i := range p.Members {
			all[memberKey{p.Name, p.Members[i].Name}] = true
		}
		if ca != nil {
			for _, b := range a.untrusting(p, ca).blockers {
				if key := (memberKey{b.Party, b.Member}); all[key] {
					behind[key] = true
				}
			}
		}
	}
	if ca == nil {
		return 0, once + len(all)
	}
	return once - late + len(all) - len(behind), once + len(all)
}
