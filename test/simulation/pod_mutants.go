// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/trust"
)

// podMutants are broken in what the life of a pod means.
func podMutants() []mutant {
	churn := []string{"scale", "pod deleted", "start", "restart", "observe", "load and observe", "leader"}
	out := []mutant{
		{name: "a pod that never started counts", make: believing(pendingRuns), breaks: []string{"NoSilentWait"}},
		{name: "a pod that is terminating does not count", make: believing(terminatingGone), often: churn},
		{name: "a pod that has ended counts", make: believing(endedCounts), often: []string{"pod evicted"}, breaks: []string{"NoSilentWait"}},
		{name: "a pod that lost its label is gone", make: believing(relabelledGone), often: []string{"label of a pod"}},
	}
	for i := range out {
		out[i].pods = true
		if out[i].breaks == nil {
			out[i].breaks = []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
		}
	}
	return out
}

// eachPod calls fn for the members that are pods.
func eachPod(d *trust.Domain, fn func(p *trust.Party, m *trust.Member)) {
	eachMember(d, func(p *trust.Party, m *trust.Member) {
		if m.Pod != nil {
			fn(p, m)
		}
	})
}

// pendingRuns waits for pods of which no container was ever started.
func pendingRuns(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		life := *m.Pod
		life.Started = true
		m.Pod = &life
	})
}

// terminatingGone passes over pods that were deleted and still run.
func terminatingGone(d *trust.Domain, _ time.Time) {
	gone := map[string]bool{}
	for i := range d.Parties {
		p := &d.Parties[i]
		p.Members = slices.DeleteFunc(p.Members, func(m trust.Member) bool {
			if m.Pod == nil || !m.Pod.Terminating {
				return false
			}
			gone[m.Instance] = true
			return true
		})
	}
	forgets(d, func(r *trust.RosterMember) bool { return gone[r.Instance] })
}

// forgets takes members out of the roster.
func forgets(d *trust.Domain, which func(r *trust.RosterMember) bool) {
	if d.Roster != nil {
		d.Roster.Members = slices.DeleteFunc(d.Roster.Members, func(r trust.RosterMember) bool { return r.Pod && which(&r) })
	}
}

// endedCounts waits for pods whose containers have ended as long as their objects are there.
func endedCounts(d *trust.Domain, _ time.Time) {
	d.Absences = maps.Clone(d.Absences)
	maps.DeleteFunc(d.Absences, func(_, proof string) bool { return strings.Contains(proof, "have ended") })
	if d.Roster == nil {
		return
	}
	for i := range d.Roster.Members {
		if r := &d.Roster.Members[i]; strings.Contains(r.Absent, "have ended") {
			r.Absent = ""
		}
	}
}

// relabelledGone takes it for a proof of absence that a selector chooses a pod no more.
func relabelledGone(d *trust.Domain, _ time.Time) {
	d.Absences = maps.Clone(d.Absences)
	if d.Absences == nil {
		d.Absences = map[string]string{}
	}
	for _, r := range trust.Missing(d) {
		if r.Pod {
			d.Absences[trust.AbsenceKey(&r)] = "it has lost its label"
		}
	}
	forgets(d, func(r *trust.RosterMember) bool { return d.Absences[trust.AbsenceKey(r)] != "" })
}
