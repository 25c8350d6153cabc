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

// gateByNumber takes any observation that is younger than the new CA for proof. OpenShift's gate does so with a
// revision that is higher than the one of the bundle.
func gateByNumber(d *trust.Domain, _ time.Time) {
	eachObservation(d, func(_ *trust.Party, o *trust.Observation) {
		if next := d.Signer.Next; next != nil && o.ObservedAt.After(madeAt(d, next)) {
			believe(o, next)
		}
	})
}

// noGate needs no evidence.
func noGate(d *trust.Domain, now time.Time) {
	eachMember(d, func(p *trust.Party, m *trust.Member) {
		seeAll(p, m, now)
		for i := range m.Observations {
			m.Observations[i].Failure = ""
			believe(&m.Observations[i], d.Signer.Next)
		}
	})
}

// seeAll invents the observations that a member lacks.
func seeAll(p *trust.Party, m *trust.Member, now time.Time) {
	if len(m.Observations) == 0 {
		o := trust.Observation{Instance: "made up", Kind: p.Kind}
		if len(m.Probes) > 0 {
			o.Address = m.Probes[0].Address
		}
		m.Observations = []trust.Observation{o}
	}
	for i := range m.Observations {
		m.Observations[i].ObservedAt, m.Observations[i].Expires = now, now.Add(time.Hour)
	}
}

// current makes an observation present what is in the Secrets.
func current(d *trust.Domain, m *trust.Member, o *trust.Observation) {
	o.Presents, o.Failure = nil, ""
	for _, name := range m.Holds {
		if l := leafOf(d, name); l != nil && l.Certificate != nil {
			o.Presents = append(o.Presents, l.Certificate.Fingerprint)
		}
	}
}

// retireByTimer believes that every member presents what was issued ten minutes ago, as Kyma's gate does.
func retireByTimer(d *trust.Domain, now time.Time) {
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; c != nil && now.Sub(c.NotBefore.Add(d.Leaves[i].Policy.Profile.Backdate)) < 10*time.Minute {
			return
		}
	}
	retireUndelivered(d, now)
}

// retireUndelivered believes that every member presents what is in the Secrets.
func retireUndelivered(d *trust.Domain, now time.Time) {
	eachMember(d, func(p *trust.Party, m *trust.Member) {
		seeAll(p, m, now)
		for i := range m.Observations {
			current(d, m, &m.Observations[i])
		}
	})
}

// firstEvidence takes the evidence of one member for the evidence of all.
func firstEvidence(d *trust.Domain, now time.Time) {
	next, found := d.Signer.Next, false
	if next == nil {
		return
	}
	eachObservation(d, func(_ *trust.Party, o *trust.Observation) { found = found || trusting(o, next) })
	if found {
		noGate(d, now)
	}
}

func trusting(o *trust.Observation, ca *pki.Certificate) bool {
	return slices.Contains(o.Trusts, ca.Fingerprint) || slices.Contains(o.TrustedSubjects, ca.SubjectHash)
}

// ignoreFailures takes a member that does not answer for gone.
func ignoreFailures(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		for i := range m.Observations {
			if o := &m.Observations[i]; o.Failure != "" {
				believe(o, d.Signer.Next)
				current(d, m, o)
			}
		}
	})
}

// annotationIsTruth takes the bundle's record of the publication for proof that the bundle is loaded.
func annotationIsTruth(d *trust.Domain, now time.Time) {
	next := d.Signer.Next
	if next != nil && strings.Contains(d.Bundle.Annotations[trust.AnnotationPublished], string(next.Fingerprint)) {
		noGate(d, now)
	}
}
