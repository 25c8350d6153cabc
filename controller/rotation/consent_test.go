// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// theirCA returns an existing CA that certrotation did not create.
func (w *world) theirCA(name string) (*corev1.Secret, *pki.Pair) {
	w.t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "theirs", Key: pki.ECDSAP256, Validity: 10 * 365 * 24 * time.Hour}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	key, err := ca.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{inventory.ActiveCertKey: ca.CertPEM(), inventory.ActiveKeyKey: key},
	}, ca
}

// TestNamesAreNoConsent: a configuration names existing objects without their consent. None of them is used for
// signing, collected, changed or shown. An event tells how to adopt them.
func TestNamesAreNoConsent(t *testing.T) {
	pairOf := func(w *world, name string) *corev1.Secret {
		_, ca := w.theirCA("x")
		leaf, err := ca.Issue(pki.Profile{CommonName: "victim", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
		if err != nil {
			w.t.Fatal(err)
		}
		key, err := leaf.KeyPEM()
		if err != nil {
			w.t.Fatal(err)
		}
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{inventory.ActiveCertKey: leaf.CertPEM(), inventory.ActiveKeyKey: key},
		}
	}
	for name, tt := range map[string]struct {
		secret    func(*world) *corev1.Secret
		configMap *corev1.ConfigMap
		object    string
		// issues is true if the leaves are issued nevertheless.
		issues bool
	}{
		"an existing CA is named as signer": {object: "Secret/" + signerName,
			secret: func(w *world) *corev1.Secret { s, _ := w.theirCA(signerName); return s }},
		"somebody's ConfigMap is named as bundle": {object: "ConfigMap/" + bundleName,
			configMap: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bundleName}, Data: map[string]string{"settings": "theirs"}}},
		"an Opaque Secret is named as aggregate": {object: "Secret/all-certs", issues: true,
			secret: func(*world) *corev1.Secret {
				return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "all-certs"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"password": []byte("theirs")}}
			}},
		"an aggregate of somebody else is named": {object: "Secret/all-certs", issues: true,
			secret: func(*world) *corev1.Secret {
				return &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Name: "all-certs", Labels: map[string]string{trust.LabelAggregate: "true"}, Annotations: map[string]string{trust.AnnotationConfiguration: "other"}},
					Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{"password": []byte("theirs")},
				}
			}},
		"somebody's ConfigMap is named as aggregate": {object: "ConfigMap/all-bundles", issues: true,
			configMap: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "all-bundles"}, Data: map[string]string{"settings": "theirs"}}},
		"somebody's pair is named as leaf": {object: "Secret/" + serverLeaf,
			secret: func(w *world) *corev1.Secret { return pairOf(w, serverLeaf) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			c := w.controller()
			var theirs *corev1.Secret
			if tt.secret != nil {
				theirs = tt.secret(w)
				w.put(theirs.DeepCopy())
			} else {
				w.put(tt.configMap.DeepCopy())
			}
			kind, object, _ := strings.Cut(tt.object, "/")
			w.clock.Step(blockedPatience)
			w.settle(c)
			w.acknowledge()
			w.settle(c)

			if theirs != nil {
				live := w.secret(object)
				if diff := cmp.Diff(theirs.Data, live.Data); diff != "" || len(live.Annotations) != len(theirs.Annotations) || len(live.Labels) != len(theirs.Labels) {
					t.Errorf("%s was changed (-before +after):\n%s", tt.object, diff)
				}
				w.holdsNothingOf(theirs)
			} else if live := w.configMap(object); !cmp.Equal(tt.configMap.Data, live.Data) || len(live.Annotations)+len(live.Labels) > 0 {
				t.Errorf("%s was changed: %v", tt.object, live)
			}
			if issued := w.found(clientLeaf) != nil; tt.issues && !issued {
				t.Error("what does not need it was not done")
			} else if !tt.issues && object != serverLeaf && issued {
				t.Error("a leaf was issued")
			}
			if !slices.ContainsFunc(w.events.all, func(e string) bool { return strings.Contains(e, "kubectl certrotation adopt -n demo web") }) {
				t.Errorf("no event names the next step: %v", w.events.all)
			}
			conditions := w.configuration().Status.Conditions
			accepted := meta.FindStatusCondition(conditions, configv1alpha1.ConditionAccepted)
			ready := meta.FindStatusCondition(conditions, configv1alpha1.ConditionReady)
			if accepted == nil || accepted.Status != metav1.ConditionTrue || ready == nil || ready.Status != metav1.ConditionFalse ||
				ready.Reason != string(trust.ReasonNotAdopted) || !strings.Contains(ready.Message, kind+"/"+object) {
				t.Errorf("conditions %+v", conditions)
			}
		})
	}
}

// found returns a Secret, nil if it does not exist.
func (w *world) found(name string) *corev1.Secret {
	secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return secret
}

// holdsNothingOf fails the test if another Secret has any of its values, or is signed with its key.
func (w *world) holdsNothingOf(theirs *corev1.Secret) {
	w.t.Helper()
	for _, name := range []string{signerName, serverLeaf, clientLeaf, "all-certs"} {
		live := w.found(name)
		if name == theirs.Name || live == nil {
			continue
		}
		for key, value := range live.Data {
			for _, their := range theirs.Data {
				if bytes.Contains(value, bytes.TrimSpace(their)) {
					w.t.Errorf("Secret/%s has theirs under %s", name, key)
				}
			}
		}
		if chain, err := pki.ParseChain(live.Data[inventory.ActiveCertKey]); err == nil && strings.Contains(chain[0].Issuer, "theirs") {
			w.t.Errorf("Secret/%s was signed with their key", name)
		}
	}
}

// TestAdoption: an existing CA is used once it consents. What the controller creates consents from the start.
func TestAdoption(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	secret, ca := w.theirCA(signerName)
	w.put(secret)
	w.settle(c)
	adopted := w.secret(signerName)
	adopted.Annotations = map[string]string{trust.AnnotationConfiguration: "web"}
	w.put(adopted)
	w.settle(c)
	leaf, err := pki.ParseChain(w.secret(serverLeaf).Data[inventory.ActiveCertKey])
	if err != nil || !leaf[0].SignedBy(ca.Certificate) {
		t.Errorf("the leaf is not signed by the CA: %v", err)
	}
	for _, name := range []string{signerName, serverLeaf, clientLeaf, "all-certs"} {
		if !trust.Consents(w.secret(name).Annotations, "web") {
			t.Errorf("Secret/%s has %v", name, w.secret(name).Annotations)
		}
	}
	for _, name := range []string{bundleName, "all-bundles"} {
		if !trust.Consents(w.configMap(name).Annotations, "web") {
			t.Errorf("ConfigMap/%s has %v", name, w.configMap(name).Annotations)
		}
	}
}

// TestWithdrawnConsent: a key is no longer collected, even if the cache still has the consent.
func TestWithdrawnConsent(t *testing.T) {
	w, c := settled(t)
	n := w.Namespace(testNamespace)
	leaf := w.secret(serverLeaf)
	delete(leaf.Annotations, trust.AnnotationConfiguration)
	w.put(leaf)
	from := aggregateContent{c, testNamespace, n.Aggregates[0], membersOf(n)}
	if _, err := from.collectPairs(t.Context()); err == nil {
		t.Error("the key of a leaf without consent was collected")
	}
}
