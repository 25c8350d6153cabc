// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// reviewSecret judges a Secret that a configuration claims by its name, whether it exists or not.
func (h *Handler) reviewSecret(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	n := h.inventory.Namespace(req.Namespace)
	if n == nil {
		return allowed(), nil
	}
	e, err := decodeEdit(req, func(s *corev1.Secret) string { return s.Name })
	if err != nil {
		return nil, err
	}
	claim, claimed := n.Claim(trust.SecretKind, e.name)
	if !claimed || othersOwn(claim, ptr.Deref(e.old, corev1.Secret{}).Annotations, ptr.Deref(e.changed, corev1.Secret{}).Annotations) {
		return allowed(), nil
	}
	fields := changedSecretFields(e.old, e.changed)
	if len(fields) == 0 {
		return allowed(), nil
	}
	return h.decide(ctx, req, fields, func(s *inventory.Sources) finding {
		// What the review says the object was is the truth: the edit applies to this version or not at all.
		before := inventory.Build(s.WithSecret(e.name, e.old))
		after := inventory.Build(s.WithSecret(e.name, e.changed))
		f := h.judgeClaim(req, trust.SecretKind, e.name, before, after)
		if e.changed != nil && (e.changed.DeletionTimestamp == nil || len(e.changed.Finalizers) > 0) {
			f.violations = append(f.violations, h.uncounted(e.name, before, after)...)
		}
		return f
	})
}

// uncounted asks whether a leaf whose Secret stays counts no more.
func (h *Handler) uncounted(name string, before, after *inventory.Namespace) []trust.Violation {
	if before == nil || after == nil {
		return nil
	}
	claim, _ := before.Claim(trust.SecretKind, name)
	old, changed := before.Domain(claim.Domain), after.Domain(claim.Domain)
	if claim.Kind != inventory.ClaimLeaf || old == nil || changed == nil {
		return nil
	}
	return trust.JudgeUncounted(old, changed, name, h.clock.Now())
}

// changedSecretFields names the fields that differ and that the model reads.
func changedSecretFields(old, changed *corev1.Secret) []string {
	if old == nil || changed == nil {
		return []string{""}
	}
	var fields []string
	if old.Type != changed.Type {
		fields = append(fields, "type")
	}
	fields = append(fields, changedBytes("data", old.Data, changed.Data)...)
	fields = append(fields, changedImmutable(old.Immutable, changed.Immutable)...)
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}

// reviewConfigMap judges a bundle or an aggregate that a configuration claims by its name, whether it exists or not.
func (h *Handler) reviewConfigMap(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	n := h.inventory.Namespace(req.Namespace)
	if n == nil {
		return allowed(), nil
	}
	e, err := decodeEdit(req, func(cm *corev1.ConfigMap) string { return cm.Name })
	if err != nil {
		return nil, err
	}
	claim, claimed := n.Claim(trust.ConfigMapKind, e.name)
	if !claimed || othersOwn(claim, ptr.Deref(e.old, corev1.ConfigMap{}).Annotations, ptr.Deref(e.changed, corev1.ConfigMap{}).Annotations) {
		return allowed(), nil
	}
	fields := changedConfigMapFields(e.old, e.changed)
	if len(fields) == 0 {
		return allowed(), nil
	}
	return h.decide(ctx, req, fields, func(s *inventory.Sources) finding {
		before := inventory.Build(s.WithConfigMap(e.name, e.old))
		after := inventory.Build(s.WithConfigMap(e.name, e.changed))
		return h.judgeClaim(req, trust.ConfigMapKind, e.name, before, after)
	})
}

// changedConfigMapFields names the fields that differ and that the model reads.
func changedConfigMapFields(old, changed *corev1.ConfigMap) []string {
	if old == nil || changed == nil {
		return []string{""}
	}
	everything := func(string) bool { return true }
	fields := changedValues("data", old.Data, changed.Data, everything)
	fields = append(fields, changedBytes("binaryData", old.BinaryData, changed.BinaryData)...)
	fields = append(fields, changedImmutable(old.Immutable, changed.Immutable)...)
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}
