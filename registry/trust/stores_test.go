// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

// stores are two trust stores. javaWorld is a domain at rest that has them.
var stores = []TrustStore{
	{Key: "truststore.jks", Format: truststore.JKS, Password: "changeit"},
	{Key: "truststore.p12", Format: truststore.PKCS12, Password: "changeit"},
}

func javaWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.d.Bundle.Stores = stores
	w.settle()
	w.reloadAll()
	w.settle()
	return w
}

func digestsOf(stores []TrustStore, anchors []*pki.Certificate) map[string]string {
	out := map[string]string{}
	for _, store := range stores {
		out[store.Key] = store.digest(&Bundle{Anchors: anchors})
	}
	return out
}

// TestStoresAreWrittenWithTheBundle: during a rotation, every write of the bundle updates the trust stores, and no
// write is for them alone.
func TestStoresAreWrittenWithTheBundle(t *testing.T) {
	w := javaWorld(t)
	w.request("test")
	for range 6 {
		w.settle()
		w.reloadAll()
	}
	if stage := w.settle().Stage; stage != Stable {
		t.Fatalf("the rotation did not end: %s", stage)
	}
	var writes []string
	for _, step := range w.done {
		if step == "PublishAnchors bundle" || step == "RetireAnchors bundle" || step == "WriteTrustStores bundle" {
			writes = append(writes, step)
		}
	}
	if diff := cmp.Diff([]string{"PublishAnchors bundle", "PublishAnchors bundle", "RetireAnchors bundle"}, writes); diff != "" {
		t.Errorf("writes of the bundle (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(digestsOf(stores, w.d.Bundle.Anchors), w.d.Bundle.StoreDigests); diff != "" {
		t.Errorf("trust stores (-want +got):\n%s", diff)
	}
}

func TestStoresAreMended(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Bundle)
		mended bool
	}{
		"nothing happened":           {func(*Bundle) {}, false},
		"a store was edited":         {func(b *Bundle) { b.StoreDigests["truststore.p12"] = "edited" }, true},
		"a store was deleted":        {func(b *Bundle) { delete(b.StoreDigests, "truststore.jks") }, true},
		"the annotation is gone":     {func(b *Bundle) { delete(b.Annotations, AnnotationTrustStores) }, true},
		"a store is not wanted":      {func(b *Bundle) { b.Stores = stores[:1] }, true},
		"no store is wanted":         {func(b *Bundle) { b.Stores = nil }, true},
		"another password":           {func(b *Bundle) { b.Stores = []TrustStore{{"truststore.jks", truststore.JKS, "another"}, stores[1]} }, true},
		"the stores have other keys": {func(b *Bundle) { b.Stores = []TrustStore{{"a.jks", truststore.JKS, "changeit"}} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := javaWorld(t)
			w.done = nil
			test.change(&w.d.Bundle)
			w.settle()
			if mended := slices.Equal(w.steps(), []string{"WriteTrustStores bundle"}); mended != test.mended {
				t.Errorf("actions %v", w.done)
			}
			if diff := cmp.Diff(digestsOf(w.d.Bundle.Stores, w.d.Bundle.Anchors), w.d.Bundle.StoreDigests); diff != "" {
				t.Errorf("trust stores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTrustStores(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, ",": {}, "a": {"a"}, "a,b": {"a", "b"}, "a,,b,": {"a", "b"},
		"1,2,3,4,5,6,7,8,9,10,11": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
	} {
		if got := ParseTrustStores(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
