// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// Bounds of an answer. Affected objects beyond maxAffected are only counted. kube-apiserver would cut long warnings
// itself, less readably.
const (
	maxMessageBytes = 2 << 10
	maxWarningBytes = 120
	maxWarnings     = 8
	maxCauses       = 16
	maxAffected     = 5
)

// verdict is the answer to a review. The zero value allows.
type verdict struct {
	denied     *metav1.Status
	invariants []string
	warnings   []string
	// confirmed means that live reads were part of the decision.
	confirmed bool
}

func allowed() *verdict { return &verdict{} }

// deny renders a denial. An edit that breaks an invariant is Forbidden, an invalid configuration is Invalid.
func deny(f judgement, fields []string) *verdict {
	status := &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{},
	}
	if len(f.violations) == 0 {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	v := &verdict{denied: status}
	var lines []string
	for _, violation := range f.violations {
		line := violationLine(violation)
		lines = append(lines, line)
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(violation.Invariant), Message: shortened(line, maxMessageBytes), Field: fieldOf(fields),
		})
		v.invariants = append(v.invariants, string(violation.Invariant))
	}
	for _, problem := range f.problems {
		line := fmt.Sprintf("%s: %s", problem.Object, problem.Message)
		lines = append(lines, line)
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Message: shortened(line, maxMessageBytes), Field: fieldOf(fields),
		})
	}
	status.Details.Causes = status.Details.Causes[:min(len(status.Details.Causes), maxCauses)]
	status.Message = shortened(strings.Join(lines, "\n"), maxMessageBytes)
	slices.Sort(v.invariants)
	v.invariants = slices.Compact(v.invariants)
	return v
}

// violationLine names the invariant, the object, what would break, and the safe way.
func violationLine(v trust.Violation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", v.Invariant, v.Object, strings.TrimSuffix(v.Message, "."))
	if len(v.Affected) > 0 {
		shown := v.Affected[:min(len(v.Affected), maxAffected)]
		fmt.Fprintf(&b, " (affects %s", strings.Join(shown, ", "))
		if more := len(v.Affected) - len(shown); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteString(")")
	}
	b.WriteString(".")
	if v.SafeWay != "" {
		fmt.Fprintf(&b, " Safe way: %s.", strings.TrimSuffix(v.SafeWay, "."))
	}
	return b.String()
}

func (v *verdict) decision() string {
	if v.denied != nil {
		return decisionDeny
	}
	return decisionAllow
}

// response builds the answer on the wire. Audit annotations name rules and never content.
func (v *verdict) response(uid types.UID) *admissionv1.AdmissionResponse {
	audit := map[string]string{"decision": v.decision()}
	if len(v.invariants) > 0 {
		audit["invariants"] = strings.Join(v.invariants, ",")
	}
	if v.confirmed {
		audit["confirmed"] = "live"
	}
	var warnings []string
	for _, warning := range v.warnings[:min(len(v.warnings), maxWarnings)] {
		warnings = append(warnings, shortened(warning, maxWarningBytes))
	}
	return &admissionv1.AdmissionResponse{
		UID: uid, Allowed: v.denied == nil, Result: v.denied, AuditAnnotations: audit, Warnings: warnings,
	}
}

// shortened cuts a text to at most limit bytes, at a character boundary.
func shortened(text string, limit int) string { return display.Shorten(text, limit, "...") }
