// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
)

// TestBundleWithStores: the model knows the trust stores that a bundle is configured to have, and those that it
// has.
func TestBundleWithStores(t *testing.T) {
	ca := authority(t, "ca")
	config := strings.Replace(webConfig, "    configMapName: web-bundle\n", "    configMapName: web-bundle\n"+
		"    additionalFormats: {pkcs12: {key: b.p12}, jks: {key: a.jks, password: own words}}\n    injectInto: [{kind: APIService, name: v1.demo}]\n", 1)
	if config == webConfig {
		t.Fatal("the configuration of the tests has no such bundle")
	}
	cm := bundle("web-bundle", ca.Certificate)
	cm.BinaryData = map[string][]byte{"b.p12": []byte("bytes"), "theirs": []byte("not looked at")}
	cm.Annotations[trust.AnnotationTrustStores] = "a.jks,b.p12"
	s := (&inventory.Sources{Namespace: testNamespace}).WithConfiguration("config", configuration("config", config)).WithConfigMap("web-bundle", cm)
	got := inventory.Build(s).Domain("web").Bundle
	want := []trust.TrustStore{
		{Key: "a.jks", Format: truststore.JKS, Password: "own words"}, {Key: "b.p12", Format: truststore.PKCS12, Password: "changeit"},
	}
	if diff := cmp.Diff(want, got.Stores); diff != "" {
		t.Errorf("what is asked for (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"b.p12": truststore.DigestOf([]byte("bytes"))}, got.StoreDigests); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trust.InjectionTarget{{Kind: "APIService", Name: "v1.demo"}}, got.InjectInto); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}
