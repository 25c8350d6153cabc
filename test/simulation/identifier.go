// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"time"

	"k8s.io/client-go/util/keyutil"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// changesIdentifier replaces the active CA, past the guard, by one with its key, its name and another key identifier.
// The former one becomes previous. No probe can tell the two apart, so it happens only where members report or promise
// what they load.
func (w *world) changesIdentifier() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	s, live := &d.Signer, w.api.secrets[d.Signer.Name]
	if w.topology.issued || w.topology.serverKind == configv1alpha1.EvidenceTLSProbe || live == nil || s.Problem != nil || s.Active == nil || s.Next != nil ||
		len(s.Previous) > 0 || s.Active.Expired(w.clock.now()) || !in(w.dice, 3, "another identifier") {
		return false
	}
	former, err := activePair(live)
	if err != nil {
		return false
	}
	renewed, err := withOtherIdentifier(former, w.clock.now())
	if err != nil {
		w.breaks(fmt.Errorf("give the active CA of %s another identifier: %w", s.Name, err))
		return false
	}
	changed := live.DeepCopy()
	if !fill(changed, inventory.ActiveCertKey, inventory.ActiveKeyKey, renewed) || !fill(changed, inventory.PreviousCertKey, inventory.PreviousKeyKey, former) {
		return false
	}
	w.say("the active CA of %s gets another key identifier", s.Name)
	w.counts.event(reidentified)
	w.api.putSecret(changed, w.clock.now())
	w.objectWritten()
	return true
}

// withOtherIdentifier renews a CA with its key and name, and with another key identifier.
func withOtherIdentifier(ca *pki.Pair, now time.Time) (*pki.Pair, error) {
	text, err := ca.KeyPEM()
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	template, err := x509.ParseCertificate(ca.Certificate.DER())
	if err != nil {
		return nil, err
	}
	public, life := template.PublicKey, template.NotAfter.Sub(template.NotBefore)
	template.NotBefore = now.Add(-5 * time.Minute)
	template.NotAfter = template.NotBefore.Add(life)
	identifier := sha256.Sum256(template.SubjectKeyId)
	template.SubjectKeyId, template.AuthorityKeyId = identifier[:20], nil
	template.SerialNumber = new(big.Int).Add(template.SerialNumber, big.NewInt(1))
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, err
	}
	made, err := pki.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return pki.ParsePair(made.PEM(), text)
}

// identifierMutants are wrong about CAs that share key and name, and differ in their key identifiers.
func identifierMutants() []mutant {
	return []mutant{{
		name: "a CA is its key and name, whatever its identifier", make: believing(keyIsIdentity), shape: reporters,
		only: []string{"leader", "load", "observe", "time", "another key identifier"}, often: []string{"another key identifier"},
		breaks: []string{"Handshake", "TrustBeforeUse", "AnchorInUse"},
	}}
}

// reporters makes worlds in which every member reports what it has loaded.
func reporters(t *topology) {
	*t = topology{
		servers: 1, serverKind: configv1alpha1.EvidenceAcknowledgement,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceAcknowledgement},
	}
}

// keyIsIdentity takes evidence of one CA for evidence of each with its key and name.
func keyIsIdentity(d *trust.Domain, _ time.Time) {
	known := slices.Concat(d.Bundle.Anchors, []*pki.Certificate{d.Signer.Active}, d.Signer.Previous)
	known = slices.DeleteFunc(known, func(ca *pki.Certificate) bool { return ca == nil })
	eachObservation(d, func(_ *trust.Party, o *trust.Observation) {
		for _, ca := range known {
			if slices.ContainsFunc(known, func(twin *pki.Certificate) bool {
				return twin.PublicKeyHash == ca.PublicKeyHash && twin.SubjectHash == ca.SubjectHash && slices.Contains(o.Trusts, twin.Fingerprint)
			}) {
				believe(o, ca)
			}
		}
	})
}
