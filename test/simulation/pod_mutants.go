// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// podMutants are broken in what the life of a pod means.
func podMutants() []mutant {
	churn := []string{"scale", "pod deleted", "start", "restart", "observe", "load and observe", "leader"}
	out := []mutant{
		{name: "a pod that never started counts", make: believing(pendingRuns), breaks: []string{"NoSilentWait"}},
		{name: "a pod that is terminating does not count", make: believing(terminatingGone), often: churn},
		{name: "a pod that has ended counts", make: believing(endedCounts), often: []string{"pod evicted"}, breaks: []string{"NoSilentWait"}},
		{name: "a restart of a container does not end evidence", make: believing(restartIsNothing), often: []string{"restart", "load and observe", "leader", "rotate"}, shape: reusing},
		{name: "a pod of the same name is the same", make: believing(sameName), shape: reusing, often: []string{"pod deleted", "pod gone", "pod started", "load and observe", "leader"}},
		{name: "a pod speaks for its neighbour", make: believing(neighbourSpeaks), often: []string{"report for a neighbour", "scale", "pod started", "load and observe", "leader"}, shape: reusing},
		{name: "the roster has no pods in flight", make: believing(podsForgotten), often: []string{"label of a pod", "configuration"}},
		{name: "a selector that has never chosen a pod is one of no pods", make: believing(mistypedIsEmpty)},
		{name: "pods that are not listed are none", make: believing(unlistedIsEmpty), often: []string{"listing", "leader"}},
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

// reusing has names of pods be used again where few count, so that each of them is needed.
func reusing(t *topology) {
	t.servers, t.podServers, t.serverKind, t.clientKinds = 1, false, configv1alpha1.EvidenceTLSProbe, t.clientKinds[:1]
	t.stateful, t.crossed, t.mistyped, t.peers, t.pacing, t.short = true, false, false, false, false, false
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

// restartIsNothing takes what was seen of the containers before for what runs now.
func restartIsNothing(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		m.RestartedAt = time.Time{}
		for i := range m.Observations {
			if o := &m.Observations[i]; o.Kind == trust.TLSProbe && m.Pod.Process != "" && strings.HasPrefix(o.Instance, m.Instance+"/") {
				o.Instance = m.Pod.Process
			}
		}
	})
}

// sameName takes what a pod of the same name has reported for what this one did.
func sameName(d *trust.Domain, _ time.Time) {
	adopts(d, func(m *trust.Member, reporter string) bool { return reporter == m.Name })
}

// neighbourSpeaks takes what another pod has reported for what this one did.
func neighbourSpeaks(d *trust.Domain, _ time.Time) {
	adopts(d, func(m *trust.Member, reporter string) bool { return reporter != m.Name })
}

// adopts takes reports that were made under another UID for those of a pod, depending on the name that it had.
func adopts(d *trust.Domain, whose func(m *trust.Member, reporter string) bool) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		for i := range m.Observations {
			o := &m.Observations[i]
			name, _, _ := strings.Cut(o.Instance, ".")
			if o.Kind == trust.Acknowledgement && o.Instance != m.Instance && whose(m, name) {
				o.Instance, m.RestartedAt = m.Instance, time.Time{}
			}
		}
	})
}

// podsForgotten has the configuration of the moment say which pods count.
func podsForgotten(d *trust.Domain, _ time.Time) {
	forgets(d, func(*trust.RosterMember) bool { return true })
}

// mistypedIsEmpty takes a selector that has never chosen a pod for one whose pods were scaled to zero.
func mistypedIsEmpty(d *trust.Domain, _ time.Time) {
	if d.Roster == nil {
		return
	}
	for i := range d.Parties {
		if p := &d.Parties[i]; p.OfPods && !slices.Contains(d.Roster.Populated, p.Name) {
			d.Roster.Populated = append(slices.Clip(d.Roster.Populated), p.Name)
		}
	}
}

// unlistedIsEmpty takes pods that nobody has listed for none.
func unlistedIsEmpty(d *trust.Domain, _ time.Time) {
	for i := range d.Parties {
		d.Parties[i].Unlisted = false
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
