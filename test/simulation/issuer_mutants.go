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

// issuerMutants are wrong about an issuer that replaces its CA in one write.
func issuerMutants() []mutant {
	only := []string{"leader", "load", "observe", "load and observe", "time", "the issuer answers", "the issuer renews", "the issuer replaces its CA"}
	return []mutant{
		{
			name: "the issuer's leaf is taken at once", make: acting(takesAtOnce(0)), shape: issuedToReporters, only: only,
			breaks: []string{"Handshake", "TrustBeforeUse"},
		},
		{
			name: "the server's pair is switched by a timer of four days", make: acting(takesAtOnce(fourDays)), shape: issuedToReporters, only: only,
			often: []string{"the issuer replaces its CA", "time"}, breaks: []string{"Handshake", "TrustBeforeUse"},
		},
		{
			name: "the former CA is forgotten when the issuer has replaced it", make: acting(forgetsReplaced), shape: issuedToReporters, only: only,
			breaks: []string{"Handshake", "AnchorInUse", "NeverEmpty"},
		},
	}
}

// fourDays is the timer of a known design: the server gets its new pair when its clients had that long to load the CA.
const fourDays = 4 * 24 * time.Hour

// issuedToReporters makes worlds in which cert-manager has the CA, and every member reports what it has loaded.
func issuedToReporters(t *topology) {
	reporters(t)
	t.clientKinds = append(t.clientKinds, configv1alpha1.EvidenceAcknowledgement)
	t.issued, t.issuedCA = true, true
}

// takesAtOnce takes what is issued some time after its CA was made, whatever the verifiers have loaded.
func takesAtOnce(after time.Duration) func(d *trust.Domain, now time.Time, a *trust.Assessment) {
	return func(d *trust.Domain, now time.Time, a *trust.Assessment) {
		ca := d.Signer.Issued.Certificate
		if ca == nil || now.Before(madeAt(d, ca).Add(after)) || len(d.Bundle.Anchors) == 0 {
			return
		}
		for i := range d.Leaves {
			l := &d.Leaves[i]
			made := l.Issued.Certificate
			if made == nil || made.Equal(l.Certificate) || !made.SignedBy(ca) || after > 0 && l.Name != "server" {
				continue
			}
			taken := issueAction(d, l, ca)
			taken.From = l.Issued
			a.Actions = append(a.Actions, taken)
		}
	}
}

// forgetsReplaced removes the anchor of a CA when the one that replaces it is published.
func forgetsReplaced(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	ca := d.Signer.Issued.Certificate
	if published(d, ca) && slices.ContainsFunc(d.Bundle.Anchors, func(other *pki.Certificate) bool { return !other.Equal(ca) }) {
		a.Actions = []trust.Action{bundleAction(d, trust.RetireAnchors, ca)}
	}
}
