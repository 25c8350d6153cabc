// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// reviewConfigMap judges a bundle, a configuration or an evidence record; one ConfigMap may be several of them.
func (h *Handler) reviewConfigMap(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	e, err := decodeEdit(req, func(cm *corev1.ConfigMap) string { return cm.Name })
	if err != nil {
		return nil, err
	}
	fields := changedConfigMapFields(e.old, e.changed)
	if len(fields) == 0 {
		return allowed(), nil
	}
	if v := h.reviewEvidence(e, fields); v != nil {
		return v, nil
	}

	configures := isConfiguration(e.old) || isConfiguration(e.changed)
	claimed := false
	if n := h.inventory.Namespace(req.Namespace); n != nil {
		_, claimed = n.Claim(trust.ConfigMapKind, e.name)
	}
	if !configures && !claimed {
		return allowed(), nil
	}
	if problem := unloadable(e); problem != nil {
		return deny(finding{problems: []trust.Problem{*problem}}, fields, true), nil
	}
	return h.decide(ctx, req, fields, func(s *inventory.Sources) finding {
		before := inventory.Build(s.WithConfigMap(e.name, e.old))
		after := inventory.Build(s.WithConfigMap(e.name, e.changed))
		var f finding
		if configures {
			f.add(h.judgeConfiguration(e.name, before, after))
		}
		if claimed {
			f.add(h.judgeClaim(req, trust.ConfigMapKind, e.name, before, after))
		}
		return f
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
	return append(fields, changedMetadata(&old.ObjectMeta, &changed.ObjectMeta)...)
}

// labelled says whether a ConfigMap exists and has a label, with any value.
func labelled(cm *corev1.ConfigMap, label string) bool {
	if cm == nil {
		return false
	}
	_, ok := cm.Labels[label]
	return ok
}
