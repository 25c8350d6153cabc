// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
)

// keystores configures a keystore and a trust store of the server, and writes them.
func (w *world) keystores() *world {
	w.config = explicit()
	leaf := &w.config.Spec.TrustDomains[0].Leaves[0]
	leaf.Keystores = &configv1alpha1.Keystores{PKCS12: &configv1alpha1.Keystore{
		Key: "keystore.p12", PasswordSecretRef: configv1alpha1.PasswordSecretRef{Name: "password", Key: "p"},
	}}
	leaf.AdditionalFormats = &configv1alpha1.AdditionalFormats{JKS: &configv1alpha1.TrustStore{Key: "truststore.jks", Password: "changeit"}}
	w.secrets["password"] = &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: "password", UID: "uid-of-password", ResourceVersion: "1", Annotations: consent()},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{"p": []byte("changeit")},
	}
	w.secrets[leaf.SecretName] = edited(w.secrets[leaf.SecretName], func(s *corev1.Secret) {
		pair, err := inventory.ActivePair(s.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		anchors := []*pki.Certificate{w.active.Certificate}
		if s.Data["keystore.p12"], err = truststore.EncodePair(truststore.PKCS12, "changeit", pair); err != nil {
			w.t.Fatal(err)
		}
		if s.Data["truststore.jks"], err = truststore.Encode(truststore.JKS, "changeit", anchors); err != nil {
			w.t.Fatal(err)
		}
		s.Annotations[trust.AnnotationTrustStores] = "truststore.jks"
		s.Annotations[trust.AnnotationKeystores] = "keystore.p12=made/" + inventory.SealOf(s, s.Data["keystore.p12"])
	})
	return w
}

// TestReviewKeystores: the controller undoes any edit of a keystore that it writes, so the guard admits it. It denies a
// keystore that nothing writes.
func TestReviewKeystores(t *testing.T) {
	stable := newWorld(t).keystores()
	server := stable.secrets["service-server"]
	theirs := func(s *corev1.Secret) {
		for _, name := range []string{trust.AnnotationConfiguration, trust.AnnotationKeystores, trust.AnnotationTrustStores} {
			delete(s.Annotations, name)
		}
		s.Data["keystore.p12"] = []byte{0x30, 3, 2, 1, 3}
	}
	unadopted := edited(server, theirs)
	others := stable.clone()
	others.secrets["service-server"] = unadopted
	undeclared := others.clone()
	undeclared.config = explicit()
	adopted := edited(unadopted, func(s *corev1.Secret) { s.Annotations[trust.AnnotationConfiguration] = "certrotation" })
	denied := answer{Code: 403, LiveReads: 1, Invariants: []string{string(trust.ContentDecides)}}

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		want         answer
	}{
		{name: "keystore edited", world: stable, old: server, changed: edited(server, func(s *corev1.Secret) { s.Data["keystore.p12"] = []byte{0x30, 3, 2, 1, 3} })},
		{name: "keystore deleted", world: stable, old: server, changed: edited(server, func(s *corev1.Secret) { delete(s.Data, "keystore.p12") })},
		{name: "trust store edited", world: stable, old: server, changed: edited(server, func(s *corev1.Secret) { s.Data["truststore.jks"] = nil })},
		{name: "annotations deleted", world: stable, old: server, changed: edited(server, func(s *corev1.Secret) {
			delete(s.Annotations, trust.AnnotationKeystores)
			delete(s.Annotations, trust.AnnotationTrustStores)
		})},
		{name: "keystore under another key", world: stable, old: server,
			changed: edited(server, func(s *corev1.Secret) { s.Data["mine.p12"] = []byte{0x30, 3, 2, 1, 3} }), want: denied},
		{name: "ca.crt emptied beside it", world: stable, old: server,
			changed: edited(server, func(s *corev1.Secret) { delete(s.Data, inventory.AuthorityKey) }),
			want:    answer{Code: 403, LiveReads: 1, Invariants: []string{string(trust.AnchorInUse)}}},
		{name: "adopted with a declared keystore", world: others, old: unadopted, changed: adopted},
		{name: "adopted with a keystore that nothing declares", world: undeclared, old: unadopted, changed: adopted, want: denied},
		{name: "password edited", world: stable, old: stable.secrets["password"],
			changed: edited(stable.secrets["password"], func(s *corev1.Secret) { s.Data["p"] = []byte("another") })},
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
