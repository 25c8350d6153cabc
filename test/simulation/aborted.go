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

// noteAborted remembers a next CA that an abort has dropped, if it is recorded to have signed nothing.
func (w *world) noteAborted(d *trust.Domain, dropped *pki.Certificate) {
	w.counts.aborts++
	w.counts.event(aborted)
	if d.Roster != nil && slices.Contains(d.Roster.NeverSigned, dropped.Fingerprint) {
		w.history(d.Name).aborted = dropped
	}
}

// restAborted aborts rotations, once in a while, whose next CA has signed nothing. They must end before any process
// loads or is observed.
func (w *world) restAborted(d dice) error {
	if w.wrong || w.mistyped || w.unguarded || !slices.ContainsFunc(w.domains().Domains, w.unsigned) || !in(d, 3, "aborted at rest") {
		return nil
	}
	for _, d := range w.domains().Domains {
		if w.unsigned(d) {
			w.apply(w.asksToAbort(d))
		}
	}
	if err := w.leadersLook(); err != nil {
		return err
	}
	for _, d := range w.domains().Domains {
		if err := w.endedAlone(d); err != nil {
			return err
		}
	}
	return nil
}

// endedAlone finds the anchor of a CA that an abort has dropped, if nothing else keeps it: problems, another former
// CA, or what clocks that were ahead have left.
func (w *world) endedAlone(d *trust.Domain) error {
	ca, a := w.history(d.Name).aborted, w.protocol(w.seen(d), w.clock.now())
	other := func(former *pki.Certificate) bool { return !former.Equal(ca) }
	broken := func(p trust.Problem) bool { return p.Reason != trust.ReasonOverdue }
	switch {
	case ca == nil || d.Signer.Next != nil || slices.ContainsFunc(d.Signer.Previous, other):
	case w.returned || slices.ContainsFunc(a.Problems, broken) || !w.presentsCurrent(d):
	case slices.ContainsFunc(d.Bundle.Anchors, ca.Equal):
		return violated("NoSilentWait", "%s has signed nothing, its rotation is aborted, and its anchor waits: %s", ca.Subject, outline(a))
	default:
		w.counts.event(endedAlone)
	}
	return nil
}

// unsigned reports whether a rotation can be aborted because its next CA may not have signed yet.
func (w *world) unsigned(d *trust.Domain) bool {
	s := &d.Signer
	return s.Issued == nil && s.Next != nil && s.Active != nil && d.Roster != nil && !slices.Contains(d.Roster.MayHaveSigned, s.Next.Fingerprint) && w.signedBy(d, s.Next) == ""
}

// presentsCurrent reports whether nothing but the leaves in Secrets is loaded or was observed.
func (w *world) presentsCurrent(d *trust.Domain) bool {
	current := map[pki.Fingerprint]bool{}
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; c != nil {
			current[c.Fingerprint] = true
		}
	}
	for _, p := range w.processes {
		for _, name := range p.held(d.Name) {
			if c := p.leaves[name]; c != nil && !current[c.Fingerprint] {
				return false
			}
		}
	}
	other := func(o trust.Observation) bool {
		return slices.ContainsFunc(o.Presents, func(f pki.Fingerprint) bool { return !current[f] })
	}
	if d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(r trust.RosterMember) bool { return slices.ContainsFunc(r.Observations, other) }) {
		return false
	}
	return !slices.ContainsFunc(d.Parties, func(p trust.Party) bool {
		return slices.ContainsFunc(p.Members, func(m trust.Member) bool { return slices.ContainsFunc(m.Observations, other) })
	})
}

// abortMutants are wrong about a rotation that was aborted.
func abortMutants() []mutant {
	return []mutant{{
		name: "an aborted CA waits for everybody", make: believing(neverSignedForgotten), shape: probed,
		only: []string{"leader", "rotate", "reachable", "time"}, often: []string{"rotate", "reachable"}, breaks: []string{"NoSilentWait"},
	}}
}

// neverSignedForgotten forgets that a dropped CA has signed nothing.
func neverSignedForgotten(d *trust.Domain, _ time.Time) {
	if d.Roster != nil && d.Signer.Next == nil {
		d.Roster.NeverSigned = nil
	}
}

// probed makes worlds in which servers verify each other, and are probed.
func probed(t *topology) {
	*t = topology{servers: 2, serverKind: configv1alpha1.EvidenceTLSProbe, peers: true}
}
