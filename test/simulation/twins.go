// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// renewsActive renews the active CA with the same key and name.
func (w *world) renewsActive(d *trust.Domain) *edit {
	live := w.api.secrets[d.Signer.Name]
	if live == nil || d.Signer.Active == nil || d.Signer.Problem != nil || w.topology.issuedCA {
		return nil
	}
	pair, err := w.renewed(live)
	if err != nil {
		w.breaks(fmt.Errorf("renew the active CA of %s with its key: %w", d.Signer.Name, err))
		return nil
	}
	return &edit{
		what: "renews the active CA of " + d.Signer.Name + " with its key", kind: trust.SecretKind, name: d.Signer.Name,
		happens: renewedCA,
		secret:  func(s *corev1.Secret) bool { return fill(s, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair) },
	}
}

// activePair parses the active CA of a signer, with its key.
func activePair(signer *corev1.Secret) (*pki.Pair, error) {
	return pki.ParsePair(signer.Data[inventory.ActiveCertKey], signer.Data[inventory.ActiveKeyKey])
}

func (w *world) renewed(signer *corev1.Secret) (*pki.Pair, error) {
	active, err := activePair(signer)
	if err != nil {
		return nil, err
	}
	return active.Resign(w.clock.now())
}

// twinMutants are wrong about a CA that was renewed with its key.
func twinMutants() []mutant {
	return []mutant{{
		name: "a name that two anchors have proves neither", make: believing(twinsAreAmbiguous), often: []string{"people"},
		breaks: []string{"NoSilentWait"},
	}}
}

// twinsAreAmbiguous takes a list of subjects for no proof of a CA that was renewed with its key.
func twinsAreAmbiguous(d *trust.Domain, _ time.Time) {
	anchors := map[string]int{}
	for _, ca := range d.Bundle.Anchors {
		anchors[ca.SubjectHash]++
	}
	eachObservation(d, func(_ *trust.Party, o *trust.Observation) {
		o.TrustedSubjects = slices.DeleteFunc(slices.Clone(o.TrustedSubjects), func(name string) bool { return anchors[name] > 1 })
	})
}
