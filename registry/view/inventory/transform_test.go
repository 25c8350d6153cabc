// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

func newPair(t *testing.T) *pki.Pair {
	t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func keyOf(t *testing.T, pair *pki.Pair) []byte {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// traces returns byte strings that occur in anything that keeps the key.
func traces(t *testing.T, keyPEM []byte) [][]byte {
	t.Helper()
	block, _ := pem.Decode(keyPEM)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := parsed.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{scalar, []byte("BEGIN PRIVATE KEY"), bytes.Split(keyPEM, []byte("\n"))[1]}
}

// walk visits every string and byte slice below a value once.
type walk struct {
	seen  map[uintptr]bool
	visit func([]byte)
}

func (w *walk) contents(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w.seen[v.Pointer()] {
			w.seen[v.Pointer()] = true
			w.contents(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.contents(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			w.contents(field)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			w.contents(entries.Key())
			w.contents(entries.Value())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.visit(v.Bytes())
			return
		}
		for i := range v.Len() {
			w.contents(v.Index(i))
		}
	case reflect.String:
		w.visit([]byte(v.String()))
	default:
	}
}

func TestTransformKeepsNoKey(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	key := keyOf(t, pair)
	secret := func(kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "demo", Name: "s", ResourceVersion: "7", Labels: map[string]string{trust.LabelAggregate: ""},
				Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: string(key), trust.AnnotationConfiguration: "config"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			},
			Type: kind, Data: data,
		}
	}
	whole := map[string][]byte{
		ActiveCertKey: pair.CertPEM(), ActiveKeyKey: key, NextCertKey: pair.CertPEM(), NextKeyKey: key,
		PreviousCertKey: pair.CertPEM(), PreviousKeyKey: key, AuthorityKey: pair.CertPEM(),
	}
	tests := []struct {
		name   string
		object *corev1.Secret
	}{
		{"pairs", secret(corev1.SecretTypeTLS, whole)},
		{"the key of another certificate", secret(corev1.SecretTypeTLS, map[string][]byte{ActiveCertKey: other.CertPEM(), ActiveKeyKey: key})},
		{"a key in place of a certificate", secret(corev1.SecretTypeTLS, map[string][]byte{ActiveCertKey: key, NextCertKey: key, AuthorityKey: key})},
		{"a key that is cut", secret(corev1.SecretTypeTLS, map[string][]byte{ActiveCertKey: pair.CertPEM(), ActiveKeyKey: key[:len(key)/2]})},
		{"an aggregate", secret(corev1.SecretTypeOpaque, map[string][]byte{"a.crt": pair.CertPEM(), "a.key": key, "b.crt": key})},
		{"another type", secret("other", map[string][]byte{"x": key})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			certs := pki.NewCache(10)
			object := tt.object.DeepCopy()
			facts, err := keepFacts(certs)(object)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range object.Data {
				if len(bytes.Trim(value, "\x00")) > 0 {
					t.Errorf("%s of the Secret was not wiped", name)
				}
			}
			for _, kept := range []any{facts, certs} {
				w := &walk{seen: map[uintptr]bool{}, visit: func(content []byte) {
					for _, trace := range traces(t, key) {
						if bytes.Contains(content, trace) {
							t.Errorf("%T keeps a key", kept)
						}
					}
				}}
				w.contents(reflect.ValueOf(kept))
			}
			again, err := keepFacts(certs)(facts)
			if err != nil || again != facts {
				t.Errorf("the transform is not idempotent: %v, %v", again, err)
			}
			if name, err := cache.MetaNamespaceKeyFunc(facts); name != "demo/s" || err != nil {
				t.Errorf("the key in the store is %q, %v", name, err)
			}
			accessor, err := meta.Accessor(facts)
			if err != nil || accessor.GetResourceVersion() != "7" || accessor.GetManagedFields() != nil {
				t.Errorf("metadata of the facts: %v, %v", accessor, err)
			}
		})
	}
}

// consenting is the metadata of an object that consents to the configuration.
var consenting = metav1.ObjectMeta{Annotations: map[string]string{trust.AnnotationConfiguration: "config"}}

func TestTransformSharesCertificates(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	certs := pki.NewCache(10)
	secret := ParseSecret(&corev1.Secret{ObjectMeta: consenting, Data: map[string][]byte{ActiveCertKey: pair.CertPEM(), ActiveKeyKey: keyOf(t, pair)}}, certs)
	cm := ParseConfigMap(&corev1.ConfigMap{ObjectMeta: consenting, BinaryData: map[string][]byte{BundleKey: append([]byte("# CA\n"), pair.CertPEM()...)}}, certs)
	if secret.Active.Certificates[0] != cm.Bundle.Anchors.Certificates[0] {
		t.Error("one certificate is kept twice")
	}
}

func TestTransformOfUnrelatedConfigMap(t *testing.T) {
	t.Parallel()
	created := metav1.NewTime(time.Unix(1, 0))
	got, err := keepFacts(pki.NewCache(1))(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: "big", UID: "u", ResourceVersion: "7", CreationTimestamp: created,
			Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"a": "b"}, OwnerReferences: []metav1.OwnerReference{{}},
		},
		Data: map[string]string{"x": "y"},
	})
	want := &ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "big", UID: "u", ResourceVersion: "7", CreationTimestamp: created,
	}}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("facts (-want +got):\n%s\n%v", diff, err)
	}
}

// TestLabelsHideNothing puts every label on a bundle.
func TestLabelsHideNothing(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	cm := ParseConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{trust.LabelAggregate: "", rollout.LabelStatus: ""}, Annotations: consenting.Annotations,
		},
		Data: map[string]string{BundleKey: string(pair.CertPEM())},
	}, pki.NewCache(1))
	if cm.Bundle == nil || len(cm.Bundle.Anchors.Certificates) != 1 || cm.Aggregate == nil || cm.Rollout == nil {
		t.Errorf("ParseConfigMap() = %+v", cm)
	}
}

func TestParseAggregate(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	got := ParseOtherSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{trust.LabelAggregate: "true"}, Annotations: consenting.Annotations},
		Data: map[string][]byte{
			"good.crt": pair.CertPEM(), "good.key": keyOf(t, pair), "mixed.crt": pair.CertPEM(), "mixed.key": keyOf(t, other),
			"half.crt": pair.CertPEM(), "empty.crt": nil, "empty.key": nil, "broken.crt": []byte("x"), "extra": nil,
		},
	}, pki.NewCache(10)).Aggregate
	want := &AggregateSecret{
		Keys:  []string{"broken.crt", "empty.crt", "empty.key", "extra", "good.crt", "good.key", "half.crt", "mixed.crt", "mixed.key"},
		Pairs: map[string]pki.Fingerprint{"good": pair.Certificate.Fingerprint},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseOtherSecret() (-want +got):\n%s", diff)
	}
}

func TestParseNode(t *testing.T) {
	t.Parallel()
	addresses := []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "10.9.9.9"}, {Type: corev1.NodeExternalIP, Address: "10.9.9.8"},
		{Type: corev1.NodeInternalIP, Address: "FD00:0:0::1"}, {Type: corev1.NodeInternalIP, Address: "::ffff:10.0.0.1"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "fe80::1%eth0"},
		{Type: corev1.NodeInternalIP, Address: ""},
	}
	got := ParseNode(&corev1.Node{Status: corev1.NodeStatus{Addresses: addresses}})
	if diff := cmp.Diff([]string{"fd00::1", "10.0.0.1"}, got.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestObjectsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(time.Unix(1, 0))
	held := metav1.ObjectMeta{Name: "x", DeletionTimestamp: &deleted, Finalizers: []string{"example.com/keep"}}
	immutable, certs := true, pki.NewCache(1)
	for name, got := range map[string]trust.Object{
		"secret":     ParseSecret(&corev1.Secret{ObjectMeta: held, Immutable: &immutable}, certs).object(),
		"other":      ParseOtherSecret(&corev1.Secret{ObjectMeta: held, Immutable: &immutable}, certs).object(),
		"config map": ParseConfigMap(&corev1.ConfigMap{ObjectMeta: held, Immutable: &immutable}, certs).object(),
	} {
		if !got.Deleting || !got.Finalizers || !got.Immutable {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := ParseConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, certs).object(); got.Deleting || got.Finalizers || got.Immutable {
		t.Errorf("an object like any other: %+v", got)
	}
}
