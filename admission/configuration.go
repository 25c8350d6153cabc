// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func isConfiguration(cm *corev1.ConfigMap) bool { return labelled(cm, configv1alpha1.ConfigLabel) }

// unloadable says why the new content of a configuration is not one. Content that was there before is not held against
// an edit of something else, so that a broken configuration can still be labelled, annotated and put right in steps.
func unloadable(e *edit[corev1.ConfigMap]) *trust.Problem {
	if !isConfiguration(e.changed) {
		return nil
	}
	content := configurationOf(e.changed)
	if isConfiguration(e.old) && bytes.Equal(configurationOf(e.old), content) {
		return nil
	}
	if _, err := configv1alpha1.Load(content, e.request.Namespace); err != nil {
		return &trust.Problem{
			Object:  fmt.Sprintf("%s/%s", trust.ConfigMapKind, e.name),
			Reason:  inventory.ReasonInvalidConfiguration,
			Message: fmt.Sprintf("%s: %s", configv1alpha1.ConfigKey, err),
		}
	}
	return nil
}

// configurationOf is the document, under either of the two maps that a key can be in.
func configurationOf(cm *corev1.ConfigMap) []byte {
	if text, ok := cm.Data[configv1alpha1.ConfigKey]; ok {
		return []byte(text)
	}
	return cm.BinaryData[configv1alpha1.ConfigKey]
}

// judgeConfiguration looks at what an edit of a configuration adds to the problems of the namespace, and at the trust
// domains that it lets go of.
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
			Object:    fmt.Sprintf("%s/%s", trust.ConfigMapKind, name),
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

func problemsOf(n *inventory.Namespace) []trust.Problem {
	if n == nil {
		return nil
	}
	return n.Problems
}
