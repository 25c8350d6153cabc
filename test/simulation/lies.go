// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// gateByNumber takes any observation that is younger than the new CA for proof, as a revision that is higher than the one
// in which a bundle was written: OpenShift's gate.
func gateByNumber(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		if o, next := m.Observation, d.Signer.Next; o != nil && next != nil && o.ObservedAt.After(madeAt(d, next)) {
			believe(o, next)
		}
	})
}

// noGate does not ask.
func noGate(d *trust.Domain, now time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		if m.Observation == nil {
			m.Observation = &trust.Observation{}
		}
		m.Observation.ObservedAt, m.Observation.Failure = now, ""
		believe(m.Observation, d.Signer.Next)
	})
}

// current makes an observation present what is in the Secrets.
func current(d *trust.Domain, m *trust.Member) {
	m.Observation.Presents, m.Observation.Failure = nil, ""
	for _, name := range m.Holds {
		if l := leafOf(d, name); l != nil && l.Certificate != nil {
			m.Observation.Presents = append(m.Observation.Presents, l.Certificate.Fingerprint)
		}
	}
}

// retireByTimer believes that everybody presents what was issued ten minutes ago: Kyma's gate.
func retireByTimer(d *trust.Domain, now time.Time) {
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; c != nil && now.Sub(c.NotBefore.Add(d.Leaves[i].Policy.Profile.Backdate)) < 10*time.Minute {
			return
		}
	}
	retireUndelivered(d, now)
}

// retireUndelivered believes that everybody presents what is in the Secrets.
func retireUndelivered(d *trust.Domain, now time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		if m.Observation == nil {
			m.Observation = &trust.Observation{}
		}
		m.Observation.ObservedAt = now
		current(d, m)
	})
}

// firstEvidence takes the evidence of one member for that of all.
func firstEvidence(d *trust.Domain, now time.Time) {
	next, found := d.Signer.Next, false
	if next == nil {
		return
	}
	eachMember(d, func(_ *trust.Party, m *trust.Member) { found = found || trusting(m.Observation, next) })
	if found {
		noGate(d, now)
	}
}

func trusting(o *trust.Observation, ca *pki.Certificate) bool {
	if o == nil {
		return false
	}
	return slices.Contains(o.Trusts, ca.Fingerprint) || slices.Contains(o.TrustedSubjects, ca.SubjectHash)
}

// beforeRestart does not look at restarts.
func beforeRestart(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) { m.RestartedAt = time.Time{} })
}

// ignoreFailures takes whoever does not answer for gone.
func ignoreFailures(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		if o := m.Observation; o != nil && o.Failure != "" {
			believe(o, d.Signer.Next)
			current(d, m)
		}
	})
}

// annotationIsTruth takes what the bundle says of the publication for proof that it is loaded.
func annotationIsTruth(d *trust.Domain, now time.Time) {
	next := d.Signer.Next
	if next != nil && strings.Contains(d.Bundle.Annotations[trust.AnnotationPublished], string(next.Fingerprint)) {
		noGate(d, now)
	}
}

// ambiguousIsProof takes the name of a CA for the CA.
func ambiguousIsProof(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		if next := d.Signer.Next; next != nil && m.Observation != nil && trusting(m.Observation, next) {
			believe(m.Observation, next)
		}
	})
}
