// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
)

// keystoreConfig asks for keystores and a trust store of web-client.
var keystoreConfig = strings.Replace(webConfig, "    usages: [ClientAuth]\n", "    usages: [ClientAuth]\n"+
	"    keystores: {pkcs12: {key: keystore.p12, passwordSecretRef: {name: password, key: p}}}\n"+
	"    additionalFormats: {jks: {key: truststore.jks}}\n", 1)

func password(value string) *corev1.Secret {
	return opaqueSecret("password", map[string][]byte{"p": []byte(value), "other": []byte("x")})
}

func TestPasswordOfAKeystore(t *testing.T) {
	leaf := pairSecret(t, "web-client", issue(t, authority(t, "ca"), "web-client"))
	ofTLS := password("changeit")
	ofTLS.Type = corev1.SecretTypeTLS
	for name, tt := range map[string]struct {
		secret *corev1.Secret
		none   string
	}{
		"there":                        {secret: password("changeit")},
		"missing":                      {none: "Secret/password with its password does not exist"},
		"of type kubernetes.io/tls":    {secret: ofTLS, none: "or is of type kubernetes.io/tls"},
		"without consent":              {secret: theirs(password("changeit")), none: "does not consent to RotationConfiguration/config"},
		"adopted by another":           {secret: adoptedBy("another", password("changeit")), none: "does not consent to RotationConfiguration/config"},
		"without the key":              {secret: opaqueSecret("password", map[string][]byte{"q": []byte("changeit")}), none: "has no password under the key p"},
		"too short":                    {secret: password("12345"), none: "6 to 128 printable ASCII characters"},
		"with a line break at the end": {secret: password("changeit\n"), none: "without a line break"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []any{configuration("config", keystoreConfig), leaf}
			if tt.secret != nil {
				objects = append(objects, tt.secret)
			}
			got := inventory.Build(sources(t, objects...)).Domain("web").Leaf("web-client").Keystores
			if len(got) != 1 || !strings.Contains(got[0].NoPassword, tt.none) || (got[0].NoPassword == "") != (tt.none == "") {
				t.Fatalf("%+v, want %q", got, tt.none)
			}
			want := trust.Keystore{Key: "keystore.p12", Format: truststore.PKCS12, PasswordSecret: "password", PasswordKey: "p"}
			if want.NoPassword = got[0].NoPassword; tt.none == "" {
				want.PasswordVersion = "uid-password/7"
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeystoresOfALeaf: a keystore that certrotation keeps is no hindrance, for the model nor for evidence by hash. One
// that another writer has changed is a hindrance for evidence only, until it is written again.
func TestKeystoresOfALeaf(t *testing.T) {
	pair := issue(t, authority(t, "ca"), "web-client")
	store, err := truststore.EncodePair(truststore.PKCS12, "changeit", pair)
	if err != nil {
		t.Fatal(err)
	}
	anchors, err := truststore.Encode(truststore.JKS, "changeit", pair.Chain)
	if err != nil {
		t.Fatal(err)
	}
	other, err := truststore.EncodePair(truststore.PKCS12, "another", pair)
	if err != nil {
		t.Fatal(err)
	}
	kept := func(s *corev1.Secret) {
		s.Data["keystore.p12"], s.Data["truststore.jks"] = store, anchors
		s.Annotations[trust.AnnotationTrustStores] = "truststore.jks"
		s.Annotations[trust.AnnotationKeystores] = "keystore.p12=made/" + inventory.SealOf(s, store)
	}
	for name, tt := range map[string]struct {
		edit func(*corev1.Secret)
		// foreign are the keys for which evidence by hash does not count, undeclared is the one that the model refuses.
		foreign    []string
		undeclared string
	}{
		"none":              {edit: func(*corev1.Secret) {}},
		"kept":              {edit: kept},
		"of another writer": {edit: func(s *corev1.Secret) { kept(s); s.Data["keystore.p12"] = other }, foreign: []string{"keystore.p12"}},
		"beside another pair": {edit: func(s *corev1.Secret) {
			kept(s)
			next := issue(t, authority(t, "ca"), "web-client")
			s.Data[inventory.ActiveCertKey], s.Data[inventory.ActiveKeyKey] = next.CertPEM(), keyPEM(t, next)
		}, foreign: []string{"keystore.p12"}},
		"before it is adopted": {edit: func(s *corev1.Secret) {
			kept(s)
			delete(s.Annotations, trust.AnnotationTrustStores)
			delete(s.Annotations, trust.AnnotationKeystores)
		}, foreign: []string{"keystore.p12", "truststore.jks"}},
		"under another key": {edit: func(s *corev1.Secret) { kept(s); s.Data["mine.p12"] = other }, foreign: []string{"mine.p12"}, undeclared: "mine.p12"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := pairSecret(t, "web-client", pair)
			tt.edit(secret)
			if got := inventory.ParseSecret(secret, pki.NewCache(1)).Keystores; !slices.Equal(got, tt.foreign) {
				t.Errorf("foreign keystores %v, want %v", got, tt.foreign)
			}
			leaf := inventory.Build(sources(t, configuration("config", keystoreConfig), password("changeit"), secret)).Domain("web").Leaf("web-client")
			if leaf.Keystore != tt.undeclared {
				t.Errorf("undeclared keystore %q, want %q", leaf.Keystore, tt.undeclared)
			}
		})
	}
}

// TestPasswordsAreReadWhereTheyAreDemanded: of Secrets of other types only those that a configuration names are read, and
// the namespace is not known before. A live read gives the same, and a change is seen.
func TestPasswordsAreReadWhereTheyAreDemanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ofOthers := password("changeit")
		ofOthers.Name = "others"
		c := newCluster(t, configuration("config", keystoreConfig), password("changeit"), ofOthers)
		c.run(t)
		if err := c.Await(t.Context(), testNamespace); err != nil {
			t.Fatal(err)
		}
		live, err := c.Live(t.Context(), testNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for from, s := range map[string]*inventory.Sources{"cache": c.Sources(testNamespace), "live": live} {
			if got := s.Others["password"].Passwords; !slices.Equal(got, []string{"p"}) {
				t.Errorf("%s: passwords %v", from, got)
			}
			if got := s.Others["others"].Passwords; got != nil {
				t.Errorf("%s: a Secret was read that nothing names: %v", from, got)
			}
		}
		before := c.Namespace(testNamespace).Domain("web").Leaf("web-client").Keystores[0].PasswordVersion
		c.put(t, password("another"))
		synctest.Wait()
		if after := c.Namespace(testNamespace).Domain("web").Leaf("web-client").Keystores[0].PasswordVersion; after == before || after == "" {
			t.Errorf("the version of the password was %s, and is %s", before, after)
		}
		c.drop(t, password("another"))
		synctest.Wait()
		if k := c.Namespace(testNamespace).Domain("web").Leaf("web-client").Keystores[0]; k.NoPassword == "" {
			t.Errorf("a password that is gone: %+v", k)
		}
	})
}
