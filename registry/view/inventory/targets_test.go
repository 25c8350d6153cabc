// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestTargetsAreMembers: each object of injectInto is a member of the party with the evidence caBundle. Its
// evidence is recorded under its name.
func TestTargetsAreMembers(t *testing.T) {
	config := strings.Replace(webConfig, "    configMapName: web-bundle\n", "    configMapName: web-bundle\n"+
		"    injectInto: [{kind: ValidatingWebhookConfiguration, name: guard}, {kind: APIService, name: v1.demo}]\n", 1)
	config = strings.Replace(config, "  relyingParties:\n", "  relyingParties:\n"+
		"  - name: kube-apiserver\n    verifies: {usages: [ServerAuth]}\n    evidence: {kind: caBundle, caBundle: {minimumDelay: 10s}}\n", 1)
	held := report("uid", authority(t, "ca").Certificate.Fingerprint)
	held.Kind = trust.CABundle
	n := inventory.Build(sources(t, configuration("config", config), node("n1", "10.0.0.1"),
		evidenceOf("web", "kube-apiserver", "APIService.v1.demo", held)))
	d := n.Domain("web")
	if d == nil {
		t.Fatalf("no domain: %s", allProblems(n))
	}
	want := trust.Party{
		Name: "kube-apiserver", Kind: trust.CABundle, Grace: 10 * time.Second, Verifies: []string{"web-serving-n1"},
		Members: []trust.Member{{Name: "ValidatingWebhookConfiguration.guard"}, {Name: "APIService.v1.demo", Observations: []trust.Observation{held}}},
	}
	if diff := cmp.Diff(want, d.Parties[0], byFingerprint); diff != "" {
		t.Errorf("party (-want +got):\n%s", diff)
	}
}
