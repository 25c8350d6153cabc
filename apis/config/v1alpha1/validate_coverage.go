// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// declaredDomain is the part of a trust domain against which its parties are checked.
type declaredDomain struct {
	// leaves by secretName.
	leaves map[string]*Leaf
	// bundle is its ConfigMap.
	bundle string
	// targets are the objects of injectInto of the bundle.
	targets []InjectionTarget
	// unlisted is set if there are leaves that are not declared.
	unlisted bool
	// editions is set if another controller writes the objects: none has the name that the configuration gives.
	editions bool
}

// open reports whether a party may verify leaves that are not declared: leaves that their holders issue, or leaves
// of a domain that declares none.
func (d *declaredDomain) open() bool {
	return d.unlisted || len(d.leaves) == 0
}

// verifiesAnything reports whether the party can verify any leaf.
func (d *declaredDomain) verifiesAnything(party *RelyingParty) bool {
	if party.Verifies.Nothing {
		return false
	}
	if d.open() && len(party.Verifies.Leaves) == 0 {
		return true
	}
	for _, leaf := range d.leaves {
		if party.Verifies.Matches(*leaf) {
			return true
		}
	}
	return false
}

// verifiesClients reports whether the party verifies leaves with which clients authenticate.
func (d *declaredDomain) verifiesClients(party *RelyingParty) bool {
	if party.Verifies.Nothing {
		return false
	}
	if d.open() && len(party.Verifies.Leaves) == 0 && (len(party.Verifies.Usages) == 0 || slices.Contains(party.Verifies.Usages, ClientAuth)) {
		return true
	}
	for _, leaf := range d.leaves {
		if party.Verifies.Matches(*leaf) && slices.Contains(leaf.Usages, ClientAuth) {
			return true
		}
	}
	return false
}

// proves reports whether the party verifies the leaf and its evidence can show that.
func proves(party *RelyingParty, leaf *Leaf) bool {
	return party.Verifies.Matches(*leaf) && unseen(party, leaf) == ""
}

// validateCoverage requires for each leaf a party that verifies it and one that presents it. Otherwise nothing
// could be proven, and a rotation would wait forever.
func validateCoverage(domain *TrustDomain, declared *declaredDomain, path *field.Path) field.ErrorList {
	parties := domain.RelyingParties
	if !slices.ContainsFunc(parties, func(party RelyingParty) bool { return declared.verifiesAnything(&party) }) {
		return field.ErrorList{field.Required(path.Child("relyingParties"), "no relying party verifies any leaf of the domain: declare who does; "+
			instead("who verifies"))}
	}
	var errs field.ErrorList
	for i := range domain.Leaves {
		leaf, at := &domain.Leaves[i], path.Child("leaves").Index(i)
		if !slices.ContainsFunc(parties, func(party RelyingParty) bool { return proves(&party, leaf) }) {
			errs = append(errs, field.Invalid(at, leaf.SecretName, "no relying party verifies the leaf"+withoutEvidence(parties, leaf)+
				": declare who does; "+instead("who verifies")))
		}
		if !slices.ContainsFunc(parties, func(party RelyingParty) bool { return slices.Contains(party.Presents, leaf.SecretName) }) {
			errs = append(errs, field.Invalid(at, leaf.SecretName, "no relying party presents the leaf: declare who does (presents, with "+
				"verifies: {nothing: true} for one that verifies nothing); "+instead("who presents")))
		}
	}
	return errs
}

// withoutEvidence explains why a party that selects the leaf does not count.
func withoutEvidence(parties []RelyingParty, leaf *Leaf) string {
	for i := range parties {
		if parties[i].Verifies.Matches(*leaf) {
			return " with evidence that could show it (" + unseen(&parties[i], leaf) + ")"
		}
	}
	return ""
}

func instead(who string) string {
	return fmt.Sprintf("if no evidence can show %s, add a party with evidence: {kind: none, reason: ...} that says why it is safe", who)
}
