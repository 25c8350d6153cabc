// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/apis/certrotation"
)

const (
	// maxReasonLength bounds a reason, in characters.
	maxReasonLength = 256
	// maxFingerprints bounds each list of an acknowledgement. A bundle holds a few anchors and a member a few leaves.
	// A longer report could fill the record of the evidence.
	maxFingerprints = 256
	// maxCertificates bounds the PEM of a CA and its issuers, in bytes, as their record does.
	maxCertificates = 256 << 10
	// maxInstanceLength bounds the name of a process, in characters.
	maxInstanceLength = 253

	fingerprintLength = 64
)

// ValidateRotationRequest validates the body of the subresource rotate.
func ValidateRotationRequest(request *certrotation.RotationRequest) field.ErrorList {
	return validateReason(request.Reason, field.NewPath("reason"))
}

// ValidateAbortRequest validates the body of the subresource abort.
func ValidateAbortRequest(request *certrotation.AbortRequest) field.ErrorList {
	return validateReason(request.Reason, field.NewPath("reason"))
}

// ValidateAuthorityInstallation validates the body of the subresource install. Package registry/trust checks the content.
func ValidateAuthorityInstallation(request *certrotation.AuthorityInstallation) field.ErrorList {
	errs := validateReason(request.Reason, field.NewPath("reason"))
	path := field.NewPath("certificates")
	switch {
	case request.Certificates == "":
		errs = append(errs, field.Required(path, "the PEM of the CA that the signer has requested, and of its issuers"))
	case len(request.Certificates) > maxCertificates:
		errs = append(errs, field.TooLong(path, "", maxCertificates))
	}
	return errs
}

// ValidateAcknowledgement validates the body of the subresource acknowledge. An empty list of trusted anchors is
// valid: the member trusts nothing.
func ValidateAcknowledgement(ack *certrotation.Acknowledgement) field.ErrorList {
	errs := validateName(ack.Party, field.NewPath("party"))
	errs = append(errs, validateName(ack.Member, field.NewPath("member"))...)
	errs = append(errs, validateFingerprints(ack.Trusts, field.NewPath("trusts"))...)
	errs = append(errs, validateFingerprints(ack.Presents, field.NewPath("presents"))...)
	errs = append(errs, validateInstance(ack.Instance, field.NewPath("instance"))...)
	if ack.StartedAt.IsZero() {
		errs = append(errs, field.Required(field.NewPath("startedAt"), "when the process started"))
	}
	if ack.ObservedAt.IsZero() {
		errs = append(errs, field.Required(field.NewPath("observedAt"), "when the process has looked at what it has loaded"))
	}
	return errs
}

// ValidateWaiver validates the body of the subresource waive. Package registry/trust checks the maximum duration.
func ValidateWaiver(waiver *certrotation.Waiver) field.ErrorList {
	errs := validateName(waiver.Party, field.NewPath("party"))
	errs = append(errs, validateName(waiver.Member, field.NewPath("member"))...)
	if waiver.Reason == "" {
		errs = append(errs, field.Required(field.NewPath("reason"), "it is shown for as long as the waiver lasts"))
	}
	errs = append(errs, validateReason(waiver.Reason, field.NewPath("reason"))...)
	switch {
	case waiver.ExpiresAfter == nil && waiver.Expires.IsZero():
		errs = append(errs, field.Required(field.NewPath("expiresAfter"), "how long the waiver lasts, such as 24h, or expires"))
	case waiver.ExpiresAfter != nil && waiver.Expires != nil:
		errs = append(errs, field.Forbidden(field.NewPath("expires"), "excludes expiresAfter"))
	case waiver.ExpiresAfter != nil && waiver.ExpiresAfter.Duration < 0:
		errs = append(errs, field.Invalid(field.NewPath("expiresAfter"), waiver.ExpiresAfter.Duration.String(), "must not be negative"))
	}
	return errs
}

// validateInstance makes sure that the name fits into a record and is safe to print.
func validateInstance(instance string, path *field.Path) field.ErrorList {
	switch {
	case instance == "":
		return field.ErrorList{field.Required(path, "")}
	case utf8.RuneCountInString(instance) > maxInstanceLength:
		return field.ErrorList{field.TooLongCharacters(path, instance, maxInstanceLength)}
	case strings.ContainsFunc(instance, unicode.IsControl):
		return field.ErrorList{field.Invalid(path, instance, "must not contain control characters")}
	}
	return nil
}

func validateReason(reason string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if utf8.RuneCountInString(reason) > maxReasonLength {
		errs = append(errs, field.TooLongCharacters(path, reason, maxReasonLength))
	}
	// The reason is shown in events and on terminals.
	if strings.ContainsFunc(reason, unicode.IsControl) {
		errs = append(errs, field.Invalid(path, reason, "must not contain control characters"))
	}
	return errs
}

func validateName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

func validateFingerprints(fingerprints []string, path *field.Path) field.ErrorList {
	if len(fingerprints) > maxFingerprints {
		return field.ErrorList{field.TooMany(path, len(fingerprints), maxFingerprints)}
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, fingerprint := range fingerprints {
		switch {
		case !isFingerprint(fingerprint):
			errs = append(errs, field.Invalid(path.Index(i), fingerprint,
				fmt.Sprintf("must be a SHA-256 as %d lower-case hexadecimal digits", fingerprintLength)))
		case seen.Has(fingerprint):
			errs = append(errs, field.Duplicate(path.Index(i), fingerprint))
		}
		seen.Insert(fingerprint)
	}
	return errs
}

func isFingerprint(text string) bool {
	if len(text) != fingerprintLength {
		return false
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
