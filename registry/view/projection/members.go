// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

type memberKey struct{ party, member string }

// members are those that hold a leaf, or all of them for "", whether the configuration or the roster has them.
func (r *renderer) members(leaf string, previous []certrotation.MemberStatus) []certrotation.MemberStatus {
	wanted := r.holders(leaf)
	before := make(map[memberKey]*certrotation.MemberStatus, len(previous))
	for i := range previous {
		before[memberKey{previous[i].Party, previous[i].Member}] = &previous[i]
	}
	var out []certrotation.MemberStatus
	for i := range r.assessment.Members {
		m := &r.assessment.Members[i]
		key := memberKey{m.Party, m.Member}
		if leaf == "" || wanted[key] {
			out = append(out, memberStatus(m, before[key]))
		}
	}
	return out
}

func (r *renderer) holders(leaf string) map[memberKey]bool {
	out := map[memberKey]bool{}
	if leaf == "" {
		return out
	}
	for i := range r.domain.Parties {
		party := &r.domain.Parties[i]
		for j := range party.Members {
			if slices.Contains(party.Members[j].Holds, leaf) {
				out[memberKey{party.Name, party.Members[j].Name}] = true
			}
		}
	}
	if r.domain.Roster != nil {
		for i := range r.domain.Roster.Members {
			if m := &r.domain.Roster.Members[i]; slices.Contains(m.Presents, leaf) {
				out[memberKey{m.Party, m.Member}] = true
			}
		}
	}
	return out
}

// memberStatus keeps the time of the last change from before if nothing but that time is another one: evidence that is
// renewed, and says the same, is no change, or each renewal would be an event for everybody who watches.
func memberStatus(m *trust.MemberAssessment, before *certrotation.MemberStatus) certrotation.MemberStatus {
	out := certrotation.MemberStatus{
		Party:    m.Party,
		Member:   m.Member,
		Evidence: string(m.Kind),
		Known:    m.Known,

		VerifiesNothing: !m.Verifies,
		Trusted:         m.Trusted,
		Delivered:       m.Delivered,
		Reason:          m.Reason,
		LastChange:      toTimePointer(m.LastChange),
		Message:         m.Message,
	}
	if w := m.Waiver; w != nil {
		out.Waiver = &certrotation.MemberWaiver{Reason: w.Reason, WaivedBy: w.By, Expires: toTime(w.Expires)}
	}
	if before != nil && before.LastChange != nil && out.LastChange != nil && sameMember(out, *before) {
		out.LastChange = before.LastChange
	}
	return out
}

func sameMember(x, y certrotation.MemberStatus) bool {
	x.LastChange, y.LastChange = nil, nil
	if x.Waiver == nil && y.Waiver == nil {
		// There may be thousands of members.
		return x == y
	}
	return equality.Semantic.DeepEqual(x, y)
}

// trusted counts the members that have loaded the newest CA, of those that verify anything.
func (r *renderer) trusted() certrotation.TrustCount {
	count := certrotation.TrustCount{Unknown: r.unknown}
	for i := range r.assessment.Members {
		m := &r.assessment.Members[i]
		if !m.Verifies {
			continue
		}
		count.Total++
		if m.Trusted {
			count.Trusted++
		}
	}
	return count
}

// isUnknown says whether nothing is known of what a member has loaded, and nobody asks.
func isUnknown(m *trust.MemberAssessment) bool { return m.Verifies && !m.Known && !m.Trusted }

// unknownVerifiers counts for each leaf the members that verify it and of whom nothing is known.
func (r *renderer) unknownVerifiers() map[string]int32 {
	silent := map[memberKey]bool{}
	for i := range r.assessment.Members {
		if m := &r.assessment.Members[i]; isUnknown(m) {
			silent[memberKey{m.Party, m.Member}] = true
		}
	}
	out := map[string]int32{}
	if len(silent) == 0 {
		return out
	}
	add := func(key memberKey, verifies []string) {
		if !silent[key] {
			return
		}
		// Who is of the configuration and of the roster counts once.
		delete(silent, key)
		for _, leaf := range verifies {
			out[leaf]++
		}
	}
	for i := range r.domain.Parties {
		party := &r.domain.Parties[i]
		for j := range party.Members {
			add(memberKey{party.Name, party.Members[j].Name}, party.Verifies)
		}
	}
	if r.domain.Roster != nil {
		for i := range r.domain.Roster.Members {
			m := &r.domain.Roster.Members[i]
			add(memberKey{m.Party, m.Member}, m.Verifies)
		}
	}
	return out
}
