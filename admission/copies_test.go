// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// copies configures copies of the bundle and of the server's pair.
func (w *world) copies() *world {
	w.config = editedConfiguration(w.config, func(s *configv1alpha1.RotationConfigurationSpec) {
		s.Copies = []configv1alpha1.Copy{
			{Kind: configv1alpha1.CopyConfigMap, Name: "service-ca-bundle", ToName: "bundle-copy"},
			{Kind: configv1alpha1.CopyConfigMap, Name: "service-ca-bundle", ToNamespace: "elsewhere"},
			{Kind: configv1alpha1.CopySecret, Name: "service-server", ToName: "server-copy"},
		}
	})
	w.configMaps["bundle-copy"] = configMap("bundle-copy", nil, w.configMaps["service-ca-bundle"].Data)
	w.secrets["server-copy"] = edited(w.secrets["service-server"], func(s *corev1.Secret) { s.Name = "server-copy" })
	return w
}

// TestReviewCopy: the controller undoes any edit of a copy, so the guard admits it with a warning.
func TestReviewCopy(t *testing.T) {
	stable := newWorld(t).copies()
	distributing := stable.clone().distribute()
	bundle, server := stable.configMaps["bundle-copy"], stable.secrets["server-copy"]
	emptied := editedConfigMap(bundle, func(cm *corev1.ConfigMap) { cm.Data = nil })
	foreign := edited(stable.leaf("service-server", stable.foreign), func(s *corev1.Secret) { s.Name = "server-copy" })
	byController := func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "controller" }
	warned := answer{Warned: true}

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		change       func(*admissionv1.AdmissionRequest)
		want         answer
	}{
		{name: "Secret deleted", world: stable, old: server, want: warned},
		{name: "Secret deleted mid-rotation", world: distributing, old: server, want: warned},
		{name: "ConfigMap deleted mid-rotation", world: distributing, old: bundle, want: warned},
		{name: "ConfigMap emptied", world: stable, old: bundle, changed: emptied, want: warned},
		{name: "leaf from a foreign CA", world: stable, old: server, changed: foreign, want: warned},
		{name: "created", world: stable, changed: server, want: warned},
		{name: "written by the controller", world: stable, old: bundle, changed: emptied, change: byController},
		{name: "annotated for something else", world: stable, old: server,
			changed: edited(server, func(s *corev1.Secret) { s.Annotations["example.com/team"] = "x" })},
		{name: "the name of a copy in another namespace is the bundle's here", world: distributing,
			old: distributing.configMaps["service-ca-bundle"], want: answer{Code: 403, LiveReads: 1, Invariants: []string{"AnchorInUse"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			req := request(t, tc.old, tc.changed)
			if tc.change != nil {
				tc.change(req)
			}
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, req)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReviewGate: people lower the annotation of the aggregate of bundles to have leaves signed at once. That is
// harmless at rest and refused during a rotation.
func TestReviewGate(t *testing.T) {
	gate := func(value string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) {
			cm.Annotations = consent()
			if value != "" {
				cm.Annotations[trust.AnnotationRolloutRevision] = value
			}
		}
	}
	stable := newWorld(t).aggregate()
	distributing := stable.clone().distribute()
	bundles := editedConfigMap(stable.configMaps["all-bundles"], gate("7"))
	refused := answer{Code: 403, Invariants: []string{"ContentDecides"}, LiveReads: 1}

	for _, tc := range []struct {
		name  string
		world *world
		value string
		want  answer
	}{
		{name: "lowered when stable", world: stable, value: "6"},
		{name: "removed when stable", world: stable},
		{name: "lowered mid-rotation", world: distributing, value: "6", want: refused},
		{name: "garbled mid-rotation", world: distributing, value: "six", want: refused},
		{name: "removed mid-rotation", world: distributing, want: refused},
		{name: "raised mid-rotation", world: distributing, value: "8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, bundles, editedConfigMap(bundles, gate(tc.value))))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
