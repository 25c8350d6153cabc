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

// podMutants are wrong about the life of a pod. Most are hunted in worlds of one shape and with few events, because
// three things seldom happen to one pod before an observation.
//
// Another rule backs up each of the following ones, so a protocol that lacks only one of them breaks no invariant:
//
//   - A restart ends the evidence of a probed pod. A second probe confirms each irreversible step, and it meets the
//     containers that run then. A restart also ends what pods report: that rule is hunted.
//   - Pods that are not listed block everything. Live reads, which list by every selector or fail, confirm each
//     irreversible step. Instead, the hunt is for a leader that trusts its informers.
//   - A report is of one UID (trust.Pod.of), also if a neighbour reports. The API takes no report with the token of
//     another pod, or under another UID (trust.CheckReportingPod): that check is hunted. The rule itself is hunted
//     with reports of a former pod of the same name.
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

// directed is a mutant that is hunted in worlds of one shape, in which only these events, reconciliations and loads
// happen.
func directed(name string, lie func(d *trust.Domain, now time.Time), shape func(t *topology), events ...string) mutant {
	return mutant{name: name, make: believing(lie), shape: shape, often: events, only: append([]string{"leader", "load and observe"}, events...)}
}

// loose is a mutant that breaks something besides the protocol.
func loose(m mutant, loosens func(o *options)) mutant {
	m.loosens = loosens
	return m
}

// oneClient is a world with few members, so that the evidence of each is needed: a probed server, and the pods of a
// client whose names are reused.
func oneClient(t *topology) {
	*t = topology{
		pods: true, stateful: true, servers: 1, serverKind: configv1alpha1.EvidenceTLSProbe,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceAcknowledgement},
	}
}

// twoClients verify the same leaf, so that it has a verifier if one of them is forgotten.
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

// nothing leaves the domain as it is.
func nothing(*trust.Domain, time.Time) {}

func eachPod(d *trust.Domain, fn func(p *trust.Party, m *trust.Member)) {
	eachMember(d, func(p *trust.Party, m *trust.Member) {
		if m.Pod != nil {
			fn(p, m)
		}
	})
}

// pendingRuns waits for pods whose containers never started.
func pendingRuns(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		life := *m.Pod
		life.Started = true
		m.Pod = &life
	})
}

// terminatingGone ignores pods that are terminating and still run.
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

// forgets removes members from the roster.
func forgets(d *trust.Domain, which func(r *trust.RosterMember) bool) {
	if d.Roster != nil {
		d.Roster.Members = slices.DeleteFunc(d.Roster.Members, func(r trust.RosterMember) bool { return r.Pod && which(&r) })
	}
}

// endedCounts waits for pods whose containers have ended until their objects are gone.
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

// restartIsNothing counts what a pod reported before its container restarted.
func restartIsNothing(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) { m.RestartedAt = time.Time{} })
}

// sameName counts the report of a former pod for the present pod of that name.
func sameName(d *trust.Domain, _ time.Time) {
	eachPod(d, func(_ *trust.Party, m *trust.Member) {
		for i := range m.Observations {
			if o := &m.Observations[i]; o.Kind == trust.Acknowledgement && o.Instance != m.Instance {
				o.Instance, m.RestartedAt = m.Instance, time.Time{}
			}
		}
	})
}

// podsForgotten counts only the pods that the present configuration chooses.
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

// retypedIsEmpty takes a selector for one that has chosen a pod if the one that it replaced has.
func retypedIsEmpty(d *trust.Domain, _ time.Time) {
	populate(d, func(p *trust.Party) bool {
		return len(p.Members) > 0 || slices.ContainsFunc(d.Roster.Populated, func(name string) bool { return name == p.Name || strings.HasPrefix(name, p.Name+"/") })
	})
}

// populate records the parties whose selectors have chosen a pod by their names alone, without the selectors.
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

// unlistedIsEmpty takes pods that were not listed for none.
func unlistedIsEmpty(d *trust.Domain, _ time.Time) {
	for i := range d.Parties {
		d.Parties[i].Unlisted = false
	}
}

// relabelledGone takes a pod that the selector does not choose any more for gone.
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
