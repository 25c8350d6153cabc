// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// reviewEvidence denies that a user who observes nothing writes an evidence record. It returns nil if the edit is no
// such thing.
//
// Deletion is left to RBAC: a record that is missing proves nothing, so that the rotation only waits, and both the
// garbage collector and whoever cleans up must be able to delete.
func (h *Handler) reviewEvidence(e *edit[corev1.ConfigMap], fields []string) *verdict {
	if !labelled(e.old, trust.LabelEvidence) && !labelled(e.changed, trust.LabelEvidence) {
		return nil
	}
	if e.request.Operation == admissionv1.Delete || len(h.evidenceWriters) == 0 || h.evidenceWriters.Has(e.request.UserInfo.Username) {
		return nil
	}
	return deny(finding{violations: []trust.Violation{{
		Invariant: trust.ContentDecides,
		Object:    fmt.Sprintf("%s/%s", trust.ConfigMapKind, e.name),
		Message:   "an evidence record says what was observed, so only those who observe write it",
		SafeWay:   "report what a member has loaded with: kubectl certrotation acknowledge",
	}}}, fields, true)
}
