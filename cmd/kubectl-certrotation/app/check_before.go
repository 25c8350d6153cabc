// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/survey"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// deniedKind is an edit that the guard denies.
const deniedKind survey.Kind = "Denied"

// object is a Secret, ConfigMap or configuration, nil if it does not exist.
type object metav1.Object

func metaOf(o object) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
}

// objectEdit is a change of one object.
type objectEdit struct {
	kind    trust.ObjectKind
	name    string
	was, is object
}

// rank orders edits as a careful person applies them: trust, then certificates, then configurations, then deletions.
func (e *objectEdit) rank() int {
	rank := map[trust.ObjectKind]int{trust.ConfigMapKind: 0, trust.SecretKind: 1, inventory.ConfigurationKind: 2}[e.kind]
	if e.is == nil {
		rank += 3
	}
	return rank
}

// denied returns what the guard denies of a change. Each edit is judged after the allowed ones before it.
func denied(before, after *checkReader, now time.Time) []survey.Finding {
	var out []survey.Finding
	for _, namespace := range before.objects.namespaces() {
		sources := before.objects.sources(namespace)
		for _, e := range editsOf(&before.objects, &after.objects, namespace) {
			file := cmp.Or(after.objects.files[e.key(namespace)], before.objects.files[e.key(namespace)])
			refused, edited := e.judge(sources, now)
			if len(refused) == 0 {
				sources = edited
			}
			for _, f := range refused {
				f.Kind, f.Severity, f.Place = deniedKind, survey.Error, survey.Place{File: file, Object: string(e.kind) + "/" + e.name, Namespace: namespace}
				out = append(out, f)
			}
		}
	}
	return out
}

func (e *objectEdit) key(namespace string) checkedKey {
	return checkedKey{e.kind, types.NamespacedName{Namespace: namespace, Name: e.name}}
}

func editsOf(before, after *checkedObjects, namespace string) []*objectEdit {
	out := slices.Concat(
		editsOfKind(trust.ConfigMapKind, before.configMaps, after.configMaps, namespace),
		editsOfKind(trust.SecretKind, before.secrets, after.secrets, namespace),
		editsOfKind(inventory.ConfigurationKind, before.configurations, after.configurations, namespace),
	)
	slices.SortFunc(out, func(a, b *objectEdit) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.name, b.name))
	})
	return out
}

// editsOfKind returns the objects that differ. The pointers in the maps are not nil.
func editsOfKind[T object](kind trust.ObjectKind, before, after map[types.NamespacedName]T, namespace string) []*objectEdit {
	var out []*objectEdit
	for name, was := range before {
		if name.Namespace != namespace {
			continue
		}
		is, kept := after[name]
		switch {
		case !kept:
			out = append(out, &objectEdit{kind: kind, name: name.Name, was: was})
		case !equality.Semantic.DeepEqual(was, is):
			out = append(out, &objectEdit{kind: kind, name: name.Name, was: was, is: is})
		}
	}
	for name, is := range after {
		if _, known := before[name]; name.Namespace == namespace && !known {
			out = append(out, &objectEdit{kind: kind, name: name.Name, is: is})
		}
	}
	return out
}

// with returns the sources after the edit.
func (e *objectEdit) with(s *inventory.Sources) *inventory.Sources {
	switch e.kind {
	case trust.SecretKind:
		return s.WithSecret(e.name, secretOf(e.is))
	case trust.ConfigMapKind:
		return s.WithConfigMap(e.name, configMapOf(e.is))
	default:
		cfg, _ := e.is.(*configv1alpha1.RotationConfiguration)
		return s.WithConfiguration(e.name, cfg)
	}
}

// judge returns why the guard denies the edit, and the sources after it.
func (e *objectEdit) judge(s *inventory.Sources, now time.Time) ([]survey.Finding, *inventory.Sources) {
	before, edited := inventory.Build(s), e.with(s)
	if e.kind == inventory.ConfigurationKind {
		after := inventory.Build(edited)
		var out []survey.Finding
		for i := range after.Problems {
			if p := &after.Problems[i]; !slices.Contains(before.Problems, *p) {
				out = append(out, survey.Finding{Message: p.String(), Next: "correct the configuration"})
			}
		}
		if len(out) > 0 {
			return out, edited
		}
		return findingsOf(trust.JudgeConfiguration(e.name, before.Configured(), after.Configured(), now).Violations), edited
	}
	claim, ok := claimOf(before, e.kind, e.was, e.is)
	if !ok {
		return nil, edited
	}
	return findingsOf(e.violations(claim, before, before.Edited(edited, claim), now)), edited
}

func (e *objectEdit) violations(claim inventory.Claim, before, after *inventory.Namespace, now time.Time) []trust.Violation {
	if claim.Kind == inventory.ClaimAggregate {
		for i, was := range before.Aggregates {
			if i < len(after.Aggregates) && (was.Secret.Name == e.name || was.ConfigMap.Name == e.name) {
				return trust.JudgeAggregate(was, after.Aggregates[i], before.Domains, now)
			}
		}
		return nil
	}
	was, is := before.Domain(claim.Domain), after.Domain(claim.Domain)
	if was == nil || is == nil {
		return nil
	}
	found := trust.Judge(was, is, now)
	if claim.Kind == inventory.ClaimLeaf && e.is != nil {
		found = append(found, trust.JudgeUncounted(was, is, e.name, now)...)
	}
	return found
}

func findingsOf(violations []trust.Violation) []survey.Finding {
	var out []survey.Finding
	for i := range violations {
		v := &violations[i]
		message := string(v.Invariant) + ": " + v.Message
		if len(v.Affected) > 0 {
			message += " (affects " + strings.Join(v.Affected, ", ") + ")"
		}
		out = append(out, survey.Finding{Message: message, Next: v.SafeWay})
	}
	return out
}
