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
	// MaxReasonLength bounds a reason, in characters.
	MaxReasonLength = 256
	// MaxFingerprints bounds each list of an acknowledgement. A bundle holds a few anchors and a member a few leaves;
	// the limit keeps a report from filling the record that the evidence is stored in.
	MaxFingerprints = 1000

	fingerprintLength = 64
)

// ValidateRotationRequest judges the body of the subresource rotate.
func ValidateRotationRequest(request *certrotation.RotationRequest) field.ErrorList {
	return validateReason(request.Reason, field.NewPath("reason"))
}

// ValidateAbortRequest judges the body of the subresource abort.
func ValidateAbortRequest(request *certrotation.AbortRequest) field.ErrorList {
	return validateReason(request.Reason, field.NewPath("reason"))
}

// ValidateAcknowledgement judges the body of the subresource acknowledge. An empty list of trusted anchors is a report
// too: the member says that it trusts nothing.
func ValidateAcknowledgement(ack *certrotation.Acknowledgement) field.ErrorList {
	errs := validateName(ack.Party, field.NewPath("party"))
	errs = append(errs, validateName(ack.Member, field.NewPath("member"))...)
	errs = append(errs, validateFingerprints(ack.Trusts, field.NewPath("trusts"))...)
	errs = append(errs, validateFingerprints(ack.Presents, field.NewPath("presents"))...)
	if ack.StartedAt != nil && ack.StartedAt.IsZero() {
		errs = append(errs, field.Invalid(field.NewPath("startedAt"), ack.StartedAt.String(), "must be a time, or be left out"))
	}
	return errs
}

func validateReason(reason string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if utf8.RuneCountInString(reason) > MaxReasonLength {
		errs = append(errs, field.TooLongCharacters(path, reason, MaxReasonLength))
	}
	// The reason ends up in events and on terminals.
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
	if len(fingerprints) > MaxFingerprints {
		return field.ErrorList{field.TooMany(path, len(fingerprints), MaxFingerprints)}
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
