// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// reviewConfiguration judges a RotationConfiguration: whether it is one, what it claims, and what it lets go of.
func (h *Handler) reviewConfiguration(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	e, err := decodeEdit(req, func(c *configv1alpha1.RotationConfiguration) string { return c.Name })
	if err != nil {
		return nil, err
	}
	fields := changedConfigurationFields(e.old, e.changed)
	if len(fields) == 0 {
		return allowed(), nil
	}
	if problem := unloadable(e); problem != nil {
		return deny(finding{problems: []trust.Problem{*problem}}, fields, true), nil
	}
	return h.decide(ctx, req, fields, func(s *inventory.Sources) finding {
		before := inventory.Build(s.WithConfiguration(e.name, e.old))
		after := inventory.Build(s.WithConfiguration(e.name, e.changed))
		return h.judgeConfiguration(e.name, before, after)
	})
}

// changedConfigurationFields names the parts of the spec that differ. Nothing else of a configuration has a meaning.
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
		{"aggregate", old.Spec.Aggregate, changed.Spec.Aggregate},
		{"rollout", old.Spec.Rollout, changed.Spec.Rollout},
		{"copies", old.Spec.Copies, changed.Spec.Copies},
	} {
		if !equality.Semantic.DeepEqual(part.was, part.is) {
			fields = append(fields, "spec."+part.name)
		}
	}
	return fields
}

// unloadable says why a configuration, whose spec was changed, is none. The API server has judged it by its schema; what
// concerns several fields, or only the namespace knows, is judged here.
func unloadable(e *edit[configv1alpha1.RotationConfiguration]) *trust.Problem {
	if e.changed == nil {
		return nil
	}
	if _, err := configv1alpha1.Load(&e.changed.Spec, e.request.Namespace); err != nil {
		return &trust.Problem{
			Object:  fmt.Sprintf("%s/%s", inventory.ConfigurationKind, e.name),
			Reason:  inventory.ReasonInvalidConfiguration,
			Message: err.Error(),
		}
	}
	return nil
}

// judgeConfiguration looks at what an edit of a configuration adds to the problems of the namespace, at the trust domains
// that it lets go of, and at the members that it only seems to let go of.
func (h *Handler) judgeConfiguration(name string, before, after *inventory.Namespace) finding {
	var f finding
	for _, problem := range problemsOf(after) {
		if !slices.Contains(problemsOf(before), problem) {
			f.problems = append(f.problems, problem)
		}
	}
	if len(f.problems) > 0 || before == nil {
		return f
	}
	for _, old := range before.Domains {
		what := letGo(old, after)
		if what == "" {
			kept := after.Domain(old.Name)
			f.warnings = append(f.warnings, stillCounted(old, kept)...)
			f.warnings = append(f.warnings, leavesLetGo(old, kept)...)
			continue
		}
		f.risky = true
		assessment := trust.Assess(old, h.clock.Now())
		if !assessment.InFlight() {
			f.warnings = append(f.warnings, fmt.Sprintf("trust domain %s: %s; nothing renews what it leaves behind", old.Name, what))
			continue
		}
		f.violations = append(f.violations, trust.Violation{
			Invariant: trust.OneRotation,
			Object:    fmt.Sprintf("%s/%s", inventory.ConfigurationKind, name),
			Affected:  []string{fmt.Sprintf("%s/%s", trust.SecretKind, old.Signer.Name)},
			Message:   fmt.Sprintf("the rotation of trust domain %s is in stage %s and would never end: %s", old.Name, assessment.Stage, what),
			SafeWay:   "wait until the stage is Stable, or abort the rotation, and then change the configuration",
		})
	}
	return f
}

// letGo says which part of a domain nobody looks after any more, "" if all is kept.
func letGo(old *trust.Domain, after *inventory.Namespace) string {
	var kept *trust.Domain
	if after != nil {
		kept = after.Domain(old.Name)
	}
	switch {
	case kept == nil:
		return "it is no longer configured"
	case kept.Signer.Name != old.Signer.Name:
		return fmt.Sprintf("its signer is no longer Secret/%s", old.Signer.Name)
	case kept.Bundle.Name != old.Bundle.Name:
		return fmt.Sprintf("its bundle is no longer ConfigMap/%s", old.Bundle.Name)
	}
	return ""
}

// stillCounted are the members that an edit takes out of a domain whose roster has them.
func stillCounted(before, after *trust.Domain) []string {
	former := map[string]bool{}
	for _, m := range trust.Missing(before) {
		former[trust.AbsenceKey(&m)] = true
	}
	var warnings []string
	for _, m := range trust.Missing(after) {
		if !former[trust.AbsenceKey(&m)] {
			warnings = append(warnings, fmt.Sprintf("trust domain %s: %s/%s still counts until it is seen to be gone, or waived", after.Name, m.Party, m.Member))
		}
	}
	return warnings
}

// leavesLetGo are the leaves that an edit ceases to name, and those that it has count no more.
func leavesLetGo(before, after *trust.Domain) []string {
	var warnings []string
	for i := range before.Leaves {
		was := &before.Leaves[i]
		is := leafOf(after, was.Name)
		switch {
		case !was.Present:
		case slices.Contains(after.Released, was.Name) && !slices.Contains(before.Released, was.Name):
			warnings = append(warnings, fmt.Sprintf("Secret/%s is released: whoever presents it is refused once its CA is retired", was.Name))
		case is != nil && is.Unnamed && !was.Unnamed:
			warnings = append(warnings, fmt.Sprintf("Secret/%s counts until it is deleted or named in releasedLeaves, and is not renewed", was.Name))
		}
	}
	return warnings
}

func problemsOf(n *inventory.Namespace) []trust.Problem {
	if n == nil {
		return nil
	}
	return n.Problems
}
