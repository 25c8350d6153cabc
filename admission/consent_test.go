// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/trust"
)

// TestReviewConsent: the guard does not protect an object without consent, even if a configuration names it.
// Removing the consent releases the object.
func TestReviewConsent(t *testing.T) {
	released := func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationConfiguration) }
	bundleReleased := func(cm *corev1.ConfigMap) { delete(cm.Annotations, trust.AnnotationConfiguration) }
	stable := newWorld(t).aggregate()
	distributing := stable.clone().distribute()
	// None of the objects of others consents.
	others := stable.clone()
	for name, s := range others.secrets {
		others.secrets[name] = edited(s, released)
	}
	for name, cm := range others.configMaps {
		others.configMaps[name] = editedConfigMap(cm, bundleReleased)
	}
	emptied := func(s *corev1.Secret) {
		s.Data = map[string][]byte{corev1.TLSCertKey: nil, corev1.TLSPrivateKeyKey: nil}
	}
	signer, server, all := others.secrets["service-signer"], others.secrets["service-server"], others.secrets["all-certs"]
	bundle := others.configMaps["service-ca-bundle"]
	released200 := answer{LiveReads: 1, Warned: true}

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		want         answer
	}{
		{name: "somebody's signer is emptied", world: others, old: signer, changed: edited(signer, emptied)},
		{name: "somebody's signer is deleted", world: others, old: signer},
		{name: "somebody's signer is made", world: others, changed: signer},
		{name: "somebody's leaf is emptied", world: others, old: server, changed: edited(server, emptied)},
		{name: "somebody's Opaque Secret is emptied", world: others, old: all, changed: edited(all, func(s *corev1.Secret) { s.Data = nil })},
		{name: "somebody's bundle is emptied", world: others, old: bundle, changed: editedConfigMap(bundle, func(cm *corev1.ConfigMap) { cm.Data = nil })},
		{name: "the signer is adopted", world: others, old: signer, changed: stable.secrets["service-signer"]},
		{name: "a leaf is adopted first", world: others, old: server, changed: stable.secrets["service-server"]},
		{name: "the bundle is adopted", world: others, old: bundle, changed: stable.configMaps["service-ca-bundle"]},
		{name: "the signer is released", world: stable, old: stable.secrets["service-signer"], changed: signer, want: released200},
		{name: "a leaf is released", world: stable, old: stable.secrets["service-server"], changed: server, want: released200},
		{name: "the signer is released mid-rotation", world: distributing, old: distributing.secrets["service-signer"],
			changed: edited(distributing.secrets["service-signer"], released), want: answer{Code: 403, LiveReads: 1, Invariants: []string{"OneRotation"}}},
		{name: "the bundle is released while leaves need it", world: stable, old: stable.configMaps["service-ca-bundle"], changed: bundle,
			want: answer{Code: 403, LiveReads: 1, Invariants: []string{"AnchorInUse"}}},
		{name: "the bundle is released and emptied in one write", world: stable, old: stable.configMaps["service-ca-bundle"],
			changed: editedConfigMap(bundle, func(cm *corev1.ConfigMap) { cm.Data = nil }), want: answer{Code: 403, LiveReads: 1, Invariants: []string{"AnchorInUse"}}},
		{name: "the aggregate is released mid-rotation", world: distributing, old: stable.secrets["all-certs"], changed: all,
			want: answer{Code: 403, LiveReads: 1, Invariants: []string{"NeverEmpty"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, tc.old, tc.changed))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
