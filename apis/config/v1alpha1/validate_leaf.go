// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxCommonName is the upper bound of X.520, in characters.
const maxCommonName = 64

func (v *validator) leaf(leaf *Leaf, signer IssuancePolicy, path *field.Path) {
	forEachNode := leaf.ForEachNode != nil
	secretName := path.Child("secretName")
	errs := validateNodeName(leaf.SecretName, forEachNode, secretName, validateName)
	if len(errs) == 0 {
		errs = v.claims.claim(kindSecret, leaf.SecretName, secretName)
	}
	v.add(errs...)
	v.add(validateSelector(leaf.ForEachNode, path.Child("forEachNode"))...)

	v.add(validateIdentity(leaf, path)...)
	v.keystores(leaf, path.Child("keystores"))
	policy := path.Child("policy")
	v.add(validatePolicy(leaf.Policy, policy)...)
	if leaf.Policy.Validity.Duration > signer.Validity.Duration {
		v.add(field.Invalid(policy.Child("validity"), leaf.Policy.Validity.Duration.String(),
			fmt.Sprintf("must not exceed the validity of the signer, %s", signer.Validity.Duration)))
	}
}

// maxPasswordSecrets bounds the Secrets with passwords in a configuration, as each is watched.
const maxPasswordSecrets = 64

func (v *validator) keystores(leaf *Leaf, path *field.Path) {
	keystores, taken := leaf.Keystores, sets.New[string]()
	if keystores == nil {
		return
	}
	for _, store := range storesIn(leaf.AdditionalFormats) {
		taken.Insert(store.Key)
	}
	for _, of := range []struct {
		format string
		store  *Keystore
	}{{"pkcs12", keystores.PKCS12}, {"jks", keystores.JKS}} {
		if of.store == nil {
			continue
		}
		name, at := of.store.PasswordSecretRef.Name, path.Child(of.format, "passwordSecretRef", "name")
		v.add(validateName(name, at)...)
		if taken.Has(of.store.Key) {
			v.add(field.Duplicate(path.Child(of.format, "key"), of.store.Key))
		}
		v.passwords.Insert(name)
		if v.passwords.Len() > maxPasswordSecrets {
			v.add(field.Invalid(at, name, fmt.Sprintf("a configuration reads passwords of at most %d Secrets", maxPasswordSecrets)))
		}
	}
}

// validateIdentity validates the names and addresses of a leaf.
func validateIdentity(leaf *Leaf, path *field.Path) field.ErrorList {
	errs := validateSubject(leaf.CommonName, path.Child("commonName"))
	errs = append(errs, validateEach(leaf.Organizations, path.Child("organizations"), validateSubject)...)
	errs = append(errs, validateEach(leaf.DNSNames, path.Child("dnsNames"), validateDNSName)...)
	return append(errs, validateEach(leaf.IPAddresses, path.Child("ipAddresses"), validateIP)...)
}

// validateSubject validates a part of the subject, in which placeholders are not replaced.
func validateSubject(text string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.ContainsFunc(text, unicode.IsControl) {
		errs = append(errs, field.Invalid(path, text, "a subject must not contain control characters"))
	}
	if strings.Contains(text, NodePlaceholder) {
		errs = append(errs, field.Invalid(path, text, fmt.Sprintf("%s is replaced in names of objects only", NodePlaceholder)))
	}
	return errs
}

// validatePolicy expects a policy with defaults.
func validatePolicy(policy IssuancePolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if jitter := *policy.JitterPercent; jitter > 0 && jitter >= policy.RenewAtPercent {
		errs = append(errs, field.Invalid(path.Child("jitterPercent"), jitter, "must be less than renewAtPercent"))
	}
	if before := policy.RenewBefore; before != nil && before.Duration >= policy.Validity.Duration {
		errs = append(errs, field.Invalid(path.Child("renewBefore"), before.Duration.String(), "must be shorter than validity"))
	}
	return errs
}
