// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// claimable reviews one kind of object that a configuration claims by name, whether or not the object exists.
type claimable[T any] struct {
	*Handler
	kind     trust.ObjectKind
	metadata func(*T) *metav1.ObjectMeta
	// fields names the differing fields that the model reads.
	fields func(old, changed *T) []string
	with   func(s *inventory.Sources, name string, object *T) *inventory.Sources
}

func (h *claimable[T]) review(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	n := h.inventory.Namespace(req.Namespace)
	if n == nil {
		return allowed(), nil
	}
	e, err := decodeEdit(req, func(o *T) string { return h.metadata(o).Name })
	if err != nil {
		return nil, err
	}
	old, changed := &metav1.ObjectMeta{}, &metav1.ObjectMeta{}
	if e.old != nil {
		old = h.metadata(e.old)
	}
	if e.changed != nil {
		changed = h.metadata(e.changed)
	}
	labels := changed
	if e.changed == nil {
		labels = old
	}
	claim, claimed := n.ClaimEdition(h.kind, e.name, labels)
	if !claimed || isUnmanaged(claim, old.Annotations, changed.Annotations) {
		return allowed(), nil
	}
	if claim.Edition && e.old != nil && !trust.Consents(old.Annotations, claim.Configuration) {
		// Giving consent only adds to what the model knows. Editions consent one by one, in any order.
		return allowed(), nil
	}
	fields := []string{""}
	if e.old != nil && e.changed != nil {
		fields = h.fields(e.old, e.changed)
	}
	if len(fields) == 0 {
		return allowed(), nil
	}
	var version *metav1.ObjectMeta
	if e.old != nil {
		version = old
	}
	return h.decide(ctx, req, fields, func(at *state) judgement {
		// The review's old object is authoritative: the edit applies to this version or not at all.
		before := at.before(h.kind, e.name, version, func() *inventory.Namespace { return inventory.Build(h.with(at.sources, e.name, e.old)) })
		if before == nil {
			return judgement{}
		}
		claim, claimed := before.ClaimEdition(h.kind, e.name, labels)
		if !claimed {
			return judgement{}
		}
		after := before.Edited(h.with(at.sources, e.name, e.changed), claim)
		f := h.judgeClaim(req, h.kind, e.name, claim, before, after)
		if claim.Kind == inventory.ClaimLeaf && e.changed != nil && (changed.DeletionTimestamp == nil || len(changed.Finalizers) > 0) {
			f.violations = append(f.violations, h.uncounted(e.name, before.Domain(claim.Domain), after.Domain(claim.Domain))...)
		}
		return f
	})
}

// uncounted returns the violations of an edit that keeps a leaf's Secret, but after which the leaf no longer counts.
func (h *Handler) uncounted(name string, before, after *trust.Domain) []trust.Violation {
	if before == nil || after == nil {
		return nil
	}
	return trust.JudgeUncounted(before, after, name, h.clock.Now())
}

func changedSecretFields(old, changed *corev1.Secret) []string {
	var fields []string
	if old.Type != changed.Type {
		fields = append(fields, "type")
	}
	fields = append(fields, changedBytes("data", old.Data, changed.Data)...)
	fields = append(fields, changedImmutable(old.Immutable, changed.Immutable)...)
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}

func changedConfigMapFields(old, changed *corev1.ConfigMap) []string {
	everything := func(string) bool { return true }
	fields := changedValues("data", old.Data, changed.Data, everything)
	fields = append(fields, changedBytes("binaryData", old.BinaryData, changed.BinaryData)...)
	fields = append(fields, changedImmutable(old.Immutable, changed.Immutable)...)
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}
