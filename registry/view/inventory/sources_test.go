// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

func TestWithSecret(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	base := sources(t, configuration("config", webConfig), pairSecret(t, "web-signer", ca), opaqueSecret("other", nil))
	before := inventory.Build(base)

	deleted := base.WithSecret("web-signer", nil)
	if d := inventory.Build(deleted).Domain("web"); d.Signer.Present {
		t.Error("a deleted Secret is present")
	}
	retyped := base.WithSecret("web-signer", opaqueSecret("web-signer", nil))
	if retyped.Secrets["web-signer"] != nil || retyped.Others["web-signer"] == nil {
		t.Error("a Secret is not where its type belongs")
	}
	back := retyped.WithSecret("web-signer", pairSecret(t, "web-signer", ca))
	if back.Secrets["web-signer"] == nil || back.Others["web-signer"] != nil {
		t.Error("a Secret is not where its type belongs")
	}
	if diff := cmp.Diff(before.Domains, inventory.Build(back).Domains, byFingerprint); diff != "" {
		t.Errorf("there and back (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Domains, inventory.Build(base).Domains, byFingerprint); diff != "" {
		t.Errorf("the sources themselves have changed (-before +after):\n%s", diff)
	}
}

func TestWithConfigMap(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	base := sources(t, configuration("config", webConfig), bundle("web-bundle", ca.Certificate))
	if d := inventory.Build(base.WithConfigMap("web-bundle", bundle("web-bundle"))).Domain("web"); d.Bundle.Anchors != nil {
		t.Error("an emptied bundle has anchors")
	}
	if d := inventory.Build(base).Domain("web"); len(d.Bundle.Anchors) != 1 {
		t.Error("the sources themselves have changed")
	}
	var none inventory.Sources
	if added := none.WithConfigMap("a", configMap("a", nil)); len(added.ConfigMaps) != 1 {
		t.Error("nothing can be added to nothing")
	}
}

func TestWithConfiguration(t *testing.T) {
	t.Parallel()
	base := sources(t, configuration("config", webConfig))
	if n := inventory.Build(base.WithConfiguration("config", nil)); n != nil {
		t.Error("a deleted configuration has effect")
	}
	if n := inventory.Build(base.WithConfiguration("other", configuration("other", disjointConfig("other")))); len(n.Domains) != 2 {
		t.Errorf("%d domains, want that of the configuration that was added as well", len(n.Domains))
	}
	if n := inventory.Build(base); len(n.Domains) != 1 {
		t.Error("the sources themselves have changed")
	}
}

func TestWithRecord(t *testing.T) {
	t.Parallel()
	base := sources(t, configuration("config", webConfig), evidenceOf("web", "clients", "a", report("pod-1")))
	observed := func(s *inventory.Sources, member int) int {
		return len(inventory.Build(s).Domain("web").Parties[1].Members[member].Observations)
	}
	if observed(base.WithRecord("evidence.web.clients.a", nil), 0) != 0 {
		t.Error("a deleted record has effect")
	}
	added := evidenceOf("web", "clients", "b", report("pod-1"), report("pod-2"))
	if observed(base.WithRecord(added.Name, added), 1) != 2 {
		t.Error("an added record has no effect")
	}
	if observed(base, 0) != 1 || observed(base, 1) != 0 {
		t.Error("the sources themselves have changed")
	}
}

func TestBuildReadsAggregates(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	leaf := issue(t, ca, "leaf")
	secret := opaqueSecret("all-certs", map[string][]byte{
		"web-serving-n1.crt": leaf.CertPEM(), "web-serving-n1.key": keyPEM(t, leaf),
		"web-serving-gone.crt": leaf.CertPEM(), "web-serving-gone.key": keyPEM(t, leaf),
	})
	secret.Labels["certrotation.dev/aggregate"] = "true"
	bundles := configMap("all-bundles", map[string]string{
		"web.crt": string(ca.CertPEM()), "old.crt": "x",
	}, "certrotation.dev/aggregate")
	n := inventory.Build(sources(t, configuration("config", webConfig), node("n1", "10.0.0.1"), secret, bundles))
	got := n.Aggregates[0]
	if !got.Secret.Present || !got.ConfigMap.Present || got.Secret.Problem != nil {
		t.Errorf("objects = %+v, %+v", got.Secret, got.ConfigMap)
	}
	if diff := cmp.Diff([]string{"web-serving-gone.crt", "web-serving-gone.key", "old.crt"}, got.Foreign); diff != "" {
		t.Errorf("foreign (-want +got):\n%s", diff)
	}
	want := map[string]pki.Fingerprint{"web-serving-n1": leaf.Certificate.Fingerprint, "web-serving-gone": leaf.Certificate.Fingerprint}
	if diff := cmp.Diff(want, got.Pairs); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	anchors := map[string][]pki.Fingerprint{"web.crt": {ca.Certificate.Fingerprint}, "old.crt": nil}
	if diff := cmp.Diff(anchors, got.Anchors); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
}

// TestBuildIsDeterministic builds twice from maps, whose order differs each time. What a namespace keeps of what it was
// built from is no result.
func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	objects := []any{configuration("b", webConfig), configuration("a", disjointConfig("other")), configuration("c", "aggregate: {}"),
		configuration("d", disjointConfig("other")), bundle("web-bundle", ca.Certificate), bundle("other-bundle", ca.Certificate)}
	for name := range strings.FieldsSeq("n1 n2 n3 n4 n5 n6") {
		objects = append(objects, node(name), malformed("evidence.web.clients."+name, "web", configv1alpha1.RecordEvidence),
			evidenceOf("web", "servers", name, report("pod-2"), report("pod-1")))
	}
	s := sources(t, objects...)
	first := inventory.Build(s)
	for range 20 {
		if diff := cmp.Diff(first, inventory.Build(s), byFingerprint, cmp.AllowUnexported(inventory.Namespace{}),
			cmp.FilterPath(func(p cmp.Path) bool {
				return slices.Contains([]string{".claims", ".records", ".sources"}, p.Last().String())
			}, cmp.Ignore())); diff != "" {
			t.Fatalf("Build() differs (-first +later):\n%s", diff)
		}
	}
}
