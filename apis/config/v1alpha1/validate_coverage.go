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
	// unlisted means that there are leaves which are not declared.
	unlisted bool
}

// open reports whether a party may verify leaves that are not declared: those that their holders issue, and those of a
// domain that declares none.
func (d *declaredDomain) open() bool {
	return d.unlisted || len(d.leaves) == 0
}

// verifiesAnything reports whether the party can be a verifier at all.
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
	if party.Evidence.Kind == EvidenceTLSProbe && !slices.Contains(leaf.Usages, ClientAuth) {
		return false
	}
	return party.Verifies.Matches(*leaf)
}

// validateCoverage requires for each leaf a party that verifies it and one that presents it: otherwise nothing could be
// proven, and a rotation would wait for ever.
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
			errs = append(errs, field.Invalid(at, leaf.SecretName, "no relying party verifies the leaf"+onlyProbed(parties, leaf)+
				": declare who does; "+instead("who verifies")))
		}
		if !slices.ContainsFunc(parties, func(party RelyingParty) bool { return slices.Contains(party.Presents, leaf.SecretName) }) {
			errs = append(errs, field.Invalid(at, leaf.SecretName, "no relying party presents the leaf: declare who does (presents, with "+
				"verifies: {nothing: true} for one that verifies nothing); "+instead("who presents")))
		}
	}
	return errs
}

// onlyProbed explains why a party that selects the leaf does not count.
func onlyProbed(parties []RelyingParty, leaf *Leaf) string {
	for _, party := range parties {
		if party.Verifies.Matches(*leaf) {
			return fmt.Sprintf(" with evidence that could show it (a tlsProbe of %s sees only whose client certificates it accepts, and "+
				"this one has no usage ClientAuth)", party.Name)
		}
	}
	return ""
}

func instead(who string) string {
	return fmt.Sprintf("if nobody can say %s, a party with evidence: {kind: none, reason: ...} says why that is safe", who)
}
