// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxCommonName and maxOrganization are the upper bounds of X.520, in characters.
	maxCommonName   = 64
	maxOrganization = 64
)

func (v *validator) leaf(leaf *Leaf, signer IssuancePolicy, path *field.Path) {
	forEachNode := leaf.ForEachNode != nil
	secretName := path.Child("secretName")
	errs := validateNodeName(leaf.SecretName, forEachNode, secretName, validateName)
	if len(errs) == 0 {
		errs = v.claims.claim(kindSecret, leaf.SecretName, secretName)
	}
	v.add(errs...)
	v.add(validateSelector(leaf.ForEachNode, path.Child("forEachNode"))...)

	if leaf.NodeAddresses && !forEachNode {
		v.add(field.Forbidden(path.Child("nodeAddresses"), "only with forEachNode"))
	}
	v.add(validateIdentity(leaf, path)...)
	if len(leaf.Usages) == 0 {
		v.add(field.Required(path.Child("usages"), "at least one"))
	}
	v.add(validateSet(leaf.Usages, path.Child("usages"), validateUsage)...)

	policy := path.Child("policy")
	v.add(validatePolicy(leaf.Policy, policy)...)
	if leaf.Policy.Validity.Duration > signer.Validity.Duration && signer.Validity.Duration >= durationBounds["validity"].least {
		v.add(field.Invalid(policy.Child("validity"), leaf.Policy.Validity.Duration.String(),
			fmt.Sprintf("must not exceed the validity of the signer, %s", signer.Validity.Duration)))
	}
}

// validateIdentity validates the names and addresses of a leaf. It needs at least one.
func validateIdentity(leaf *Leaf, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if leaf.CommonName == "" && len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 && !leaf.NodeAddresses {
		errs = append(errs, field.Required(path.Child("commonName"), "a leaf without names and addresses needs one"))
	}
	errs = append(errs, validateSubject(leaf.CommonName, maxCommonName, path.Child("commonName"))...)
	for i, organization := range leaf.Organizations {
		if organization == "" {
			errs = append(errs, field.Required(path.Child("organizations").Index(i), ""))
		}
		errs = append(errs, validateSubject(organization, maxOrganization, path.Child("organizations").Index(i))...)
	}
	errs = append(errs, validateSet(leaf.DNSNames, path.Child("dnsNames"), validateDNSName)...)
	return append(errs, validateSet(leaf.IPAddresses, path.Child("ipAddresses"), validateIP)...)
}

// validateSubject validates a part of the subject, in which placeholders are not replaced.
func validateSubject(text string, limit int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if utf8.RuneCountInString(text) > limit {
		errs = append(errs, field.TooLongCharacters(path, text, limit))
	}
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
	errs := validateKey(policy.Key, path.Child("key"))
	errs = append(errs, validateDuration(policy.Validity, path, "validity")...)
	if policy.RenewAtPercent < 1 || policy.RenewAtPercent > 99 {
		errs = append(errs, field.Invalid(path.Child("renewAtPercent"), policy.RenewAtPercent, "must be between 1 and 99"))
	}
	if jitter := policy.JitterPercent; jitter != nil && (*jitter < 0 || *jitter > 20 || (*jitter > 0 && *jitter >= policy.RenewAtPercent)) {
		errs = append(errs, field.Invalid(path.Child("jitterPercent"), *jitter, "must be between 0 and 20 and less than renewAtPercent"))
	}
	if before := policy.RenewBefore; before != nil {
		errs = append(errs, validateDuration(before, path, "renewBefore")...)
		if policy.Validity != nil && before.Duration >= policy.Validity.Duration {
			errs = append(errs, field.Invalid(path.Child("renewBefore"), before.Duration.String(), "must be shorter than validity"))
		}
	}
	return append(errs, validateDuration(policy.Backdate, path, "backdate")...)
}
