// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// reviewRecord denies writes of RotationRecords by users other than certrotation itself. RBAC says the same; the
// guard also stops users who have every right. A missing record may mean that no member counts, so deletion is denied
// too, unless the namespace is being deleted.
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
	return deny(judgement{violations: []trust.Violation{trust.JudgeRecord(e.name, string(kind))}}, fields), nil
}

// changedRecordFields names the differing fields that the model reads.
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
