// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// reviewConfiguration judges an edit of a RotationConfiguration: its validity, its claims, and its effect on trust
// domains.
func (h *Handler) reviewConfiguration(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	e, err := decodeEdit(req, func(c *configv1alpha1.RotationConfiguration) string { return c.Name })
	if err != nil {
		return nil, err
	}
	if problem := h.refusedOperation(e); problem != nil {
		return deny(judgement{problems: []trust.Problem{*problem}}, []string{"metadata.annotations"}), nil
	}
	fields := changedConfigurationFields(e.old, e.changed)
	if len(fields) == 0 {
		return allowed(), nil
	}
	if problem := unloadable(e); problem != nil {
		return deny(judgement{problems: []trust.Problem{*problem}}, fields), nil
	}
	var version *metav1.ObjectMeta
	if e.old != nil {
		version = &e.old.ObjectMeta
	}
	return h.decide(ctx, req, fields, func(at *state) judgement {
		before := at.before(inventory.ConfigurationKind, e.name, version, func() *inventory.Namespace {
			return inventory.Build(at.sources.WithConfiguration(e.name, e.old))
		})
		after := inventory.Build(at.sources.WithConfiguration(e.name, e.changed))
		return h.judgeConfiguration(e.name, before, after)
	})
}

// changedConfigurationFields names the parts of the spec that differ. The guard reads nothing else of a
// configuration.
func changedConfigurationFields(old, changed *configv1alpha1.RotationConfiguration) []string {
	if old == nil || changed == nil {
		return []string{""}
	}
	var fields []string
	for _, part := range []struct {
		name    string
		was, is any
	}{
		{"preset", old.Spec.Preset, changed.Spec.Preset},
		{"trustDomains", old.Spec.TrustDomains, changed.Spec.TrustDomains},
		{"nodeCIDRs", old.Spec.NodeCIDRs, changed.Spec.NodeCIDRs},
		{"serviceCIDRs", old.Spec.ServiceCIDRs, changed.Spec.ServiceCIDRs},
		{"aggregate", old.Spec.Aggregate, changed.Spec.Aggregate},
		{"rollout", old.Spec.Rollout, changed.Spec.Rollout},
		{"clusters", old.Spec.Clusters, changed.Spec.Clusters},
		{"copies", old.Spec.Copies, changed.Spec.Copies},
		{"credentials", old.Spec.Credentials, changed.Spec.Credentials},
	} {
		if !equality.Semantic.DeepEqual(part.was, part.is) {
			fields = append(fields, "spec."+part.name)
		}
	}
	return fields
}

// refusedOperation returns why an operation that an edit asks for is not possible now, nil if none is refused.
func (h *Handler) refusedOperation(e *edit[configv1alpha1.RotationConfiguration]) *trust.Problem {
	if e.changed == nil {
		return nil
	}
	return problemOf(e.name, inventory.ReasonOperationRefused, edition.JudgeEdit(e.old, e.changed, h.clock.Now()))
}

// unloadable returns the rule that a changed configuration breaks, nil if none. The API server has checked the
// schema; rules across fields, and rules that depend on the namespace, are checked here.
func unloadable(e *edit[configv1alpha1.RotationConfiguration]) *trust.Problem {
	if e.changed == nil {
		return nil
	}
	_, err := load.Spec(&e.changed.Spec, e.request.Namespace)
	return problemOf(e.name, inventory.ReasonInvalidConfiguration, err)
}

// problemOf returns an error as a problem of a configuration, nil if there is none.
func problemOf(configuration string, reason trust.Reason, err error) *trust.Problem {
	if err == nil {
		return nil
	}
	return &trust.Problem{Object: fmt.Sprintf("%s/%s", inventory.ConfigurationKind, configuration), Reason: reason, Message: err.Error()}
}

// judgeConfiguration collects the problems that an edit adds to the namespace. If there are none, the model judges
// the effect on trust domains.
func (h *Handler) judgeConfiguration(name string, before, after *inventory.Namespace) judgement {
	var f judgement
	for _, problem := range problemsOf(after) {
		if !slices.Contains(problemsOf(before), problem) {
			f.problems = append(f.problems, problem)
		}
	}
	if len(f.problems) > 0 || before == nil {
		return f
	}
	judged := trust.JudgeConfiguration(name, before.Configured(), after.Configured(), h.clock.Now())
	return judgement{violations: judged.Violations, risky: judged.LetsGo, warnings: judged.Consequences}
}

func problemsOf(n *inventory.Namespace) []trust.Problem {
	if n == nil {
		return nil
	}
	return n.Problems
}
