// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"certrotation.dev/admission"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/survey"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// deniedKind is an edit that the guard denies.
const deniedKind survey.Kind = "Denied"

// object is a Secret, ConfigMap or configuration, nil if it does not exist.
type object metav1.Object

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
func denied(ctx context.Context, before, after *checkReader, now clock.PassiveClock) ([]survey.Finding, error) {
	var out []survey.Finding
	for _, namespace := range before.objects.namespaces() {
		view := &fileView{before.objects.sources(namespace)}
		guard, err := admission.New(admission.Config{Inventory: view, Clock: now})
		if err != nil {
			return nil, err
		}
		for _, e := range editsOf(&before.objects, &after.objects, namespace) {
			request, err := e.request(view.sources.Namespace)
			if err != nil {
				return nil, err
			}
			status, err := guard.Judge(ctx, request)
			if err != nil {
				return nil, fmt.Errorf("judge the edit of %s/%s in namespace %s: %w", e.kind, e.name, request.Namespace, err)
			}
			if status == nil {
				view.sources = e.with(view.sources)
				continue
			}
			file := cmp.Or(after.objects.files[e.key(namespace)], before.objects.files[e.key(namespace)])
			out = append(out, findingsOf(status, survey.Place{File: file, Object: string(e.kind) + "/" + e.name, Namespace: namespace})...)
		}
	}
	return out, nil
}

// findingsOf has one finding for each cause of a denial, which ends with the safe way.
func findingsOf(denial *metav1.Status, at survey.Place) []survey.Finding {
	var out []survey.Finding
	for _, cause := range denial.Details.Causes {
		message, way, _ := strings.Cut(cause.Message, " Safe way: ")
		out = append(out, survey.Finding{Kind: deniedKind, Severity: survey.Error, Place: at, Message: message, Next: cmp.Or(strings.TrimSuffix(way, "."), "correct it, and check again")})
	}
	return out
}

// fileView shows the guard the objects of a namespace that are in files.
type fileView struct{ sources *inventory.Sources }

func (v *fileView) HasSynced() bool                       { return true }
func (v *fileView) Managed(string) bool                   { return true }
func (v *fileView) Await(context.Context, string) error   { return nil }
func (v *fileView) Namespace(string) *inventory.Namespace { return inventory.Build(v.sources) }
func (v *fileView) Sources(string) *inventory.Sources     { return v.sources }

func (v *fileView) Live(context.Context, string) (*inventory.Sources, error) { return v.sources, nil }

// resources of the kinds that the guard judges.
var resources = map[trust.ObjectKind]schema.GroupVersionResource{
	trust.SecretKind:            {Version: "v1", Resource: "secrets"},
	trust.ConfigMapKind:         {Version: "v1", Resource: "configmaps"},
	inventory.ConfigurationKind: {Group: configv1alpha1.GroupName, Version: "v1alpha1", Resource: "rotationconfigurations"},
}

// request is the question that kube-apiserver asks the webhook about the edit.
func (e *objectEdit) request(namespace string) (*admissionv1.AdmissionRequest, error) {
	out := &admissionv1.AdmissionRequest{Resource: metav1.GroupVersionResource(resources[e.kind]), Namespace: namespace, Name: e.name, Operation: admissionv1.Update}
	for to, o := range map[*[]byte]object{&out.OldObject.Raw: e.was, &out.Object.Raw: e.is} {
		if o == nil {
			continue
		}
		data, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode %s/%s: %w", e.kind, e.name, err)
		}
		*to = data
	}
	switch {
	case e.was == nil:
		out.Operation = admissionv1.Create
	case e.is == nil:
		out.Operation = admissionv1.Delete
	}
	return out, nil
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
