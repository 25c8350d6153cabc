// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// reviewRecord denies that anybody but certrotation itself writes what is remembered. RBAC says the same; this holds where
// somebody has every right. A record that is missing may say that nobody counts, so it is not deleted either, but together
// with its namespace.
func (h *Handler) reviewRecord(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	if len(h.writers) == 0 || h.writers.Has(req.UserInfo.Username) {
		return allowed(), nil
	}
	e, err := decodeEdit(req, func(r *configv1alpha1.RotationRecord) string { return r.Name })
	if err != nil {
		return nil, err
	}
	fields := changedRecordFields(e.old, e.changed)
	if len(fields) == 0 || req.Operation == admissionv1.Delete && h.terminating(ctx, req.Namespace) {
		return allowed(), nil
	}
	kind := configv1alpha1.RecordKind("")
	for _, r := range []*configv1alpha1.RotationRecord{e.changed, e.old} {
		if r != nil {
			kind = r.Spec.Kind
		}
	}
	return deny(finding{violations: []trust.Violation{{
		Invariant: trust.ContentDecides,
		Object:    fmt.Sprintf("%s/%s", trust.RecordKind, e.name),
		Message:   "a record says what certrotation was asked for and has seen, so only certrotation writes it",
		SafeWay:   insteadOf(kind),
	}}}, fields, true), nil
}

// changedRecordFields names the fields that differ and that the model reads.
func changedRecordFields(old, changed *configv1alpha1.RotationRecord) []string {
	if old == nil || changed == nil {
		return []string{""}
	}
	var fields []string
	if !equality.Semantic.DeepEqual(old.Spec, changed.Spec) {
		fields = append(fields, "spec")
	}
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}

// insteadOf is how a person gets what a record of that kind is for.
func insteadOf(kind configv1alpha1.RecordKind) string {
	switch kind {
	case configv1alpha1.RecordRequest:
		return "ask with kubectl certrotation rotate, or with kubectl certrotation abort"
	case configv1alpha1.RecordWaiver:
		return "decide with kubectl certrotation waive"
	case configv1alpha1.RecordEvidence:
		return "report what a process has loaded with kubectl certrotation acknowledge"
	case configv1alpha1.RecordRoster:
		return "who is gone leaves the roster by itself; who need not be waited for is waived with kubectl certrotation waive"
	case configv1alpha1.RecordClock:
		return "put right the clock of the controller, and the record goes away"
	case configv1alpha1.RecordRefusal:
		return "put right what the API server refuses, and the record goes away"
	}
	return ""
}
