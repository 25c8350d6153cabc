// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestConfigured: the guard's view of a configuration names the reporters, and the carriers of objects to
// processes.
func TestConfigured(t *testing.T) {
	got := inventory.Build(sources(t,
		configuration("config", webConfig+"copies: [{kind: ConfigMap, name: web-bundle, toNamespace: elsewhere}]\n"), node("n1", "10.0.0.1"),
	)).Configured()
	if len(got.Domains) != 1 || len(got.Aggregates) != 1 {
		t.Fatalf("configured %+v", got)
	}
	want := []trust.Carrier{{Name: "the copy of ConfigMap/web-bundle to elsewhere/web-bundle", Objects: []string{"ConfigMap/web-bundle"}}}
	if diff := cmp.Diff(want, got.Carriers); diff != "" {
		t.Errorf("carriers (-want +got):\n%s", diff)
	}
	reporters := &trust.Reporters{Groups: []string{"web-operators"}, ServiceAccounts: []string{"web-{member}"}}
	for i := range got.Domains[0].Parties {
		p := &got.Domains[0].Parties[i]
		if want := p.Name == "clients"; want != (p.Reporters != nil) || want && !cmp.Equal(reporters, p.Reporters) {
			t.Errorf("reporters of %s = %+v", p.Name, p.Reporters)
		}
	}
	var none *inventory.Namespace
	if diff := cmp.Diff(&trust.Configured{}, none.Configured()); diff != "" {
		t.Errorf("without a configuration (-want +got):\n%s", diff)
	}
}
