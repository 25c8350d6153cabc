// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// mutant is a protocol that is broken in one way.
type mutant struct {
	name string
	// make returns the protocol for one world. It keeps its state within that world.
	make func() Protocol
	// often are the events that are more frequent while it is hunted, because it goes wrong only where they meet.
	often []string
	// pods says that it is hunted in worlds with pods.
	pods bool
	// breaks are the invariants by which it must be found, any if empty.
	breaks []string
	// shape makes the worlds in which it is hunted, nil if any world will do.
	shape func(t *topology)
	// only are the events that happen while it is hunted, apart from those in the middle of another one. All if
	// empty.
	only []string
	// rare says that it takes some 10,000 steps to find. Only TestExtendedMutantsAreCaught hunts it.
	rare bool
	// loosens breaks a check outside of the protocol, nil for none.
	loosens func(o *options)
}

// mutants are the broken protocols that the simulator must find. Some broken rules break no invariant in these
// worlds: the guard refuses what they need, or the world lacks its shape. Such shapes are a subject that two keys
// share, other kinds of evidence, intermediates, and a process that hangs for longer than its lease. registry/trust
// tests them.
func mutants() []mutant {
	return append(slices.Concat(besideMutants(), unfitMutants(), nodeMutants(), twinMutants(), identifierMutants(), abortMutants(), typoMutants(), futureMutants(), removalMutants(), issuerMutants()), []mutant{
		{name: "the gate counts instead of looking at content", make: believing(gateByNumber)},
		{name: "no gate", make: believing(noGate)},
		{name: "retire by a timer", make: believing(retireByTimer)},
		{name: "retire without evidence of delivery", make: believing(retireUndelivered)},
		{name: "promote on the first evidence", make: believing(firstEvidence)},
		{name: "who does not answer counts as gone", make: believing(ignoreFailures), rare: true, often: []string{"reachable", "observe"}},
		{name: "an annotation is the truth", make: believing(annotationIsTruth)},
		{name: "forget the previous signer at the promotion", make: acting(forgetPrevious)},
		{name: "destroy the previous key at the promotion", make: acting(destroyAtPromotion)},
		{name: "sign everything anew when a leaf is missing", make: acting(resignAllOnJoin)},
		{name: "publish only what is new after a conflict", make: onlyNewAfterConflict},
		{name: "sign with next before it is published", make: acting(signUnpublished)},
		{name: "a second rotation restarts the first", make: acting(restartRotation)},
		{name: "rebuild a lost bundle from the active CA alone", make: acting(rebuildFromActive)},
		{name: "drop the next CA whenever an abort is asked for", make: acting(abortAlways), rare: true},
		{name: "the roster is forgotten", make: believing(rosterForgotten)},
		{name: "nobody is everybody", make: believing(nobodyIsEverybody)},
		{name: "the last observation speaks for all processes", make: believing(lastSpeaks), rare: true},
		{name: "bootstrap from absence", make: believing(absenceIsBootstrap), rare: true},
		{name: "who has run is new when everything is lost", make: believing(hasRunForgotten), often: []string{"loss of everything"}},
		{
			name: "a waiver is for every rotation", make: believing(waiverForEver), often: []string{"waiver", "stop", "start", "rotate"},
			breaks: []string{"Handshake", "TrustBeforeUse", "AnchorInUse"},
		},
		{name: "renewed without delay", make: believing(renewedAtOnce)},
		{
			name: "what is recorded is right by a clock that is behind", make: believing(recordedByOneClock), rare: true, shape: promisers,
			only: []string{"leader", "crash", "time"}, often: []string{"crash"}, breaks: []string{"Handshake", "TrustBeforeUse", "AnchorInUse"},
		},
		{
			name: "the controller has always looked", make: believing(alwaysLooked), often: []string{"leader"},
			only: []string{"leader", "clocks", "load", "observe", "time"}, breaks: []string{"Handshake", "TrustBeforeUse", "AnchorInUse"},
		},
		{name: "diverged evidence is ignored", make: believing(divergedIgnored)},
		{name: "a member that cannot run stands against its own leaf", make: believing(idleStands)},
		{name: "a refused write stops everything", make: acting(refusedStopsAll)},
		{
			name: "evidence from the future is left out", make: believing(futureIgnored), rare: true,
			often: []string{"clocks", "second process", "load", "observe"},
		},
	}...)
}

// believing breaks what the protocol takes for evidence: it changes a copy of the domain.
func believing(lie func(d *trust.Domain, now time.Time)) func() Protocol {
	return func() Protocol {
		return func(d *trust.Domain, now time.Time) *trust.Assessment {
			told := copyOf(d)
			lie(told, now)
			return trust.Assess(told, now)
		}
	}
}

// acting breaks what the protocol does.
func acting(meddle func(d *trust.Domain, now time.Time, a *trust.Assessment)) func() Protocol {
	return func() Protocol {
		return func(d *trust.Domain, now time.Time) *trust.Assessment {
			a := trust.Assess(d, now)
			if d.Signer.Problem == nil && d.Bundle.Problem == nil {
				meddle(d, now, a)
			}
			return a
		}
	}
}

// copyOf copies the parts of a domain that lies change.
func copyOf(d *trust.Domain) *trust.Domain {
	out := *d
	out.Parties = slices.Clone(d.Parties)
	for i := range out.Parties {
		p := &out.Parties[i]
		p.Members = slices.Clone(p.Members)
		for k := range p.Members {
			p.Members[k].Observations = slices.Clone(p.Members[k].Observations)
			p.Members[k].Probes = slices.Clone(p.Members[k].Probes)
		}
	}
	out.Roster = rosterCopy(d.Roster)
	return &out
}

func rosterCopy(r *trust.Roster) *trust.Roster {
	if r == nil {
		return nil
	}
	out := *r
	out.Members = slices.Clone(r.Members)
	for i := range out.Members {
		out.Members[i].Observations = slices.Clone(out.Members[i].Observations)
	}
	return &out
}

// eachObservation calls fn for the observations of all observed members, those of the roster included.
func eachObservation(d *trust.Domain, fn func(p *trust.Party, o *trust.Observation)) {
	eachMember(d, func(p *trust.Party, m *trust.Member) {
		for i := range m.Observations {
			fn(p, &m.Observations[i])
		}
	})
}

// eachMember calls fn for the observed members.
func eachMember(d *trust.Domain, fn func(p *trust.Party, m *trust.Member)) {
	for i := range d.Parties {
		p := &d.Parties[i]
		if p.Kind != trust.TLSProbe && p.Kind != trust.Acknowledgement {
			continue
		}
		for k := range p.Members {
			fn(p, &p.Members[k])
		}
	}
}

// believe adds a CA to what an observation trusts.
func believe(o *trust.Observation, ca *pki.Certificate) {
	if ca != nil {
		o.Trusts = append(slices.Clone(o.Trusts), ca.Fingerprint)
	}
}

// madeAt returns when a CA was made.
func madeAt(d *trust.Domain, ca *pki.Certificate) time.Time {
	return ca.NotBefore.Add(d.Signer.Policy.Profile.Backdate)
}

// published reports whether the bundle holds a CA.
func published(d *trust.Domain, ca *pki.Certificate) bool {
	return ca != nil && slices.ContainsFunc(d.Bundle.Anchors, ca.Equal)
}

// promisers makes worlds in which clocks decide: every member has promised to load within a time.
func promisers(t *topology) {
	*t = topology{
		servers: 1, serverKind: configv1alpha1.EvidenceGracePeriod,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceGracePeriod},
	}
}
