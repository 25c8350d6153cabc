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

// members returns the members that hold a leaf, or all for "". They come from the configuration or the roster.
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

// memberStatus keeps the previous time of the last change if nothing but that time differs. Renewed evidence of the
// same content is no change: otherwise each renewal would be an event for every watch.
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
		// Cheaper than DeepEqual: there may be thousands of members.
		return x == y
	}
	return equality.Semantic.DeepEqual(x, y)
}

// trusted counts the members that have loaded the newest CA, among those that verify anything.
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

// isUnknown reports whether a verifying member has no current evidence of the CAs that it has loaded, and is not
// trusted without it.
func isUnknown(m *trust.MemberAssessment) bool { return m.Verifies && !m.Known && !m.Trusted }

// unknownVerifiers counts, per leaf, the members that verify it and for which isUnknown is true.
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
		// A member of both the configuration and the roster counts once.
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
