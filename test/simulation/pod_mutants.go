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

// podMutants are broken in what the life of a pod means. Most are hunted in worlds of a shape, and by events, that bring about
// what they are wrong about, as it is seldom that three things happen to one pod before anybody looks at it.
//
// Some rules have another one behind them, so that a protocol without the former alone breaks nothing:
//   - that a restart ends the evidence of a pod that is probed: whatever cannot be undone is confirmed by another probe, which
//     meets the containers that run then. A restart ends what pods report of themselves, and that is hunted;
//   - that pods which are not listed stand against everything: whatever cannot be undone is confirmed by live reads, which
//     list by every selector or fail. The rule is hunted in a leader that believes its informers instead;
//   - that a report is of one UID (trust.Pod.of) where a neighbour reports: the API takes no report with the token of another
//     pod, or under another UID (trust.CheckReportingPod). That is hunted by itself, and the UID by what a former pod of the
//     same name has reported, which the API took.
func podMutants() []mutant {
	churn := []string{"scale", "pod deleted", "start", "restart", "observe", "load and observe", "leader"}
	out := []mutant{
		{name: "a pod that never started counts", make: believing(pendingRuns), breaks: []string{"NoSilentWait"}},
		{name: "a pod that is terminating does not count", make: believing(terminatingGone), often: churn},
		{name: "a pod that has ended counts", make: believing(endedCounts), often: []string{"pod evicted"}, breaks: []string{"NoSilentWait"}},
		{name: "a pod that lost its label is gone", make: believing(relabelledGone), often: []string{"label of a pod"}},
		directed("a restart of a container does not end evidence", restartIsNothing, oneClient, "restart into older content"),
		directed("a pod of the same name is the same", sameName, oneClient, "another pod of a name"),
		loose(directed("a pod reports for its neighbour", nothing, oneClient, "report for a neighbour", "late pod"), func(o *options) { o.anyReporter = true }),
		directed("the roster has no pods in flight", podsForgotten, twoClients, "selector in flight"),
		directed("a selector that has never chosen a pod is one of no pods", mistypedIsEmpty, mistypedClient),
		directed("a selector is taken for the one that it has replaced", retypedIsEmpty, retypedClient),
		loose(directed("an informer of pods that is behind is believed", nothing, oneClient, "late pod", "cache"), func(o *options) { o.cachedPods = true }),
		loose(directed("a pod that is not listed yet is none", unlistedIsEmpty, oneClient, "listing"), func(o *options) { o.cachedPods = true }),
	}
	for i := range out {
		out[i].pods = true
		if out[i].breaks == nil {
			out[i].breaks = []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
		}
	}
	return out
}

// directed is a mutant that is hunted in worlds of one shape, in which nothing happens but these events, looks and loads.
func directed(name string, lie func(d *trust.Domain, now time.Time), shape func(t *topology), events ...string) mutant {
	return mutant{name: name, make: believing(lie), shape: shape, often: events, only: append([]string{"leader", "load and observe"}, events...)}
}

// loose is a mutant around which something besides the protocol is broken.
func loose(m mutant, loosens func(o *options)) mutant {
	m.loosens = loosens
	return m
}

// oneClient is a world in which few count, so that each of them is needed: a server that is probed, and the pods of a client
// whose names are used again.
func oneClient(t *topology) {
	*t = topology{
		pods: true, stateful: true, servers: 1, serverKind: configv1alpha1.EvidenceTLSProbe,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceAcknowledgement},
	}
}

// twoClients verify the same leaf, so that it has a verifier when one of them is forgotten.
func twoClients(t *topology) {
	oneClient(t)
	t.clientKinds = append(t.clientKinds, configv1alpha1.EvidenceAcknowledgement)
}

func mistypedClient(t *topology) {
	oneClient(t)
	t.mistyped = true
}

func retypedClient(t *topology) {
	oneClient(t)
	t.retyped = true
}

// nothing is no lie.
func nothing(*trust.Domain, time.Time) {}

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

// restartIsNothing takes what a pod has reported before its container was started again for what runs now.
func restartIsNothing(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) { m.RestartedAt = time.Time{} })
}

// sameName takes what a pod of the same name has reported for what this one did.
func sameName(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		for i := range m.Observations {
			if o := &m.Observations[i]; o.Kind == trust.Acknowledgement && o.Instance != m.Instance {
				o.Instance, m.RestartedAt = m.Instance, time.Time{}
			}
		}
	})
}

// podsForgotten has the configuration of the moment say which pods count.
func podsForgotten(d *trust.Domain, _ time.Time) {
	missing := map[string]bool{}
	for _, r := range trust.Missing(d) {
		missing[trust.AbsenceKey(&r)] = true
	}
	forgets(d, func(r *trust.RosterMember) bool { return missing[trust.AbsenceKey(r)] })
}

// mistypedIsEmpty takes a selector that has never chosen a pod for one whose pods were scaled to zero.
func mistypedIsEmpty(d *trust.Domain, _ time.Time) {
	populate(d, func(*trust.Party) bool { return true })
}

// retypedIsEmpty takes it for one that has chosen a pod if another one did that was in its place.
func retypedIsEmpty(d *trust.Domain, _ time.Time) {
	populate(d, func(p *trust.Party) bool {
		return len(p.Members) > 0 || slices.ContainsFunc(d.Roster.Populated, func(name string) bool { return name == p.Name || strings.HasPrefix(name, p.Name+"/") })
	})
}

// populate has the roster say by the names of parties alone whose selectors have chosen a pod.
func populate(d *trust.Domain, did func(p *trust.Party) bool) {
	if d.Roster == nil {
		return
	}
	var names []string
	for i := range d.Parties {
		if p := &d.Parties[i]; p.OfPods {
			if did(p) {
				names = append(names, p.Name)
			}
			p.Selector = ""
		}
	}
	slices.Sort(names)
	d.Roster.Populated = names
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
