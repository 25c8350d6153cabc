// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

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
	if _, claimed := n.Claim(trust.SecretKind, e.name); !claimed {
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
		return h.judgeClaim(trust.SecretKind, e.name, before, after)
	})
}

// judgeClaim judges the domain that claims an object. Aggregates belong to no domain: they are copies, and the
// controller makes them anew.
func (h *Handler) judgeClaim(kind trust.ObjectKind, name string, before, after *inventory.Namespace) finding {
	if before == nil || after == nil {
		return finding{}
	}
	claim, claimed := before.Claim(kind, name)
	if !claimed {
		return finding{}
	}
	if claim.Kind == inventory.ClaimAggregate {
		return finding{warnings: []string{fmt.Sprintf("%s/%s is a copy: the controller puts its content right again", kind, name)}}
	}
	return h.judge(claim.Domain, before, after)
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
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}
