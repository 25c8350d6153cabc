// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// rivals is a second trust domain. Its leaf peer-metrics-x may belong to the node x or to the node metrics-x.
const rivals = `
- name: peers
  signer: {secretName: peer-signer}
  bundle: {configMapName: peer-bundle}
  leaves:
  - {secretName: "peer-{node}", forEachNode: {matchLabels: {role: web}}, nodeAddresses: true, usages: [ServerAuth]}
  - {secretName: "peer-metrics-{node}", forEachNode: {matchLabels: {role: web}}, nodeAddresses: true, usages: [ServerAuth]}
  relyingParties:
  - name: all
    forEachNode: {matchLabels: {role: web}}
    presents: ["peer-{node}", "peer-metrics-{node}"]
    verifies: {usages: [ServerAuth]}
    evidence: {kind: acknowledgement}
aggregate:`

// TestEdited: building only the domain of an edited object gives the same result as building the whole namespace.
func TestEdited(t *testing.T) {
	t.Parallel()
	ca, other := authority(t, "ca"), authority(t, "other")
	labelled := pairSecret(t, "web-client", issue(t, ca, "web-client"))
	labelled.Labels[trust.LabelCopyOf] = "demo.x"
	opaque := opaqueSecret("x", map[string][]byte{"a": []byte("b")})
	s := sources(t,
		configuration("config", strings.Replace(webConfig, "\naggregate:", rivals, 1)+"copies: [{kind: ConfigMap, name: web-bundle, toName: copied}]\n"),
		node("x", "10.0.0.1"), node("metrics-x", "10.0.0.2"),
		pairSecret(t, "web-signer", ca), pairSecret(t, "peer-signer", other), bundle("web-bundle", ca.Certificate), bundle("peer-bundle", other.Certificate),
		pairSecret(t, "web-client", issue(t, ca, "web-client")), pairSecret(t, "web-serving-x", issue(t, ca, "web-serving-x")),
		pairSecret(t, "peer-metrics-x", issue(t, other, "peer-metrics-x")), pairSecret(t, "unnamed", issue(t, ca, "unnamed")),
		evidenceOf("web", "clients", "a", report("p", ca.Certificate.Fingerprint)),
	)
	n := inventory.Build(s)
	if len(n.Problems) > 0 || len(n.Domains) != 2 {
		t.Fatalf("problems %v, %d domains", n.Problems, len(n.Domains))
	}
	secrets := map[string]*corev1.Secret{
		"deleted": nil, "of another CA": pairSecret(t, "x", issue(t, other, "x")), "of the CA": pairSecret(t, "x", issue(t, ca, "x")),
		"a CA": pairSecret(t, "x", ca), "a copy": labelled, "opaque": opaque, "released": theirs(pairSecret(t, "x", issue(t, ca, "x"))),
	}
	edits := 0
	for _, name := range []string{"web-signer", "peer-signer", "web-client", "web-serving-x", "web-serving-metrics-x", "peer-x", "peer-metrics-x", "unnamed"} {
		claim, claimed := n.Claim(trust.SecretKind, name)
		if !claimed {
			t.Fatalf("Secret/%s is not claimed", name)
		}
		for edit, secret := range secrets {
			if secret != nil {
				secret = secret.DeepCopy()
				secret.Name = name
			}
			compareEdited(t, fmt.Sprintf("Secret/%s becomes %s", name, edit), n, s.WithSecret(name, secret), claim)
			edits++
		}
	}
	claim, _ := n.Claim(trust.ConfigMapKind, "web-bundle")
	for _, cm := range []*corev1.ConfigMap{nil, bundle("web-bundle", ca.Certificate, other.Certificate), bundle("web-bundle")} {
		compareEdited(t, "ConfigMap/web-bundle", n, s.WithConfigMap("web-bundle", cm), claim)
	}
	if edits != 56 {
		t.Errorf("%d edits", edits)
	}
}

func compareEdited(t *testing.T, edit string, n *inventory.Namespace, s *inventory.Sources, claim inventory.Claim) {
	t.Helper()
	want, got := inventory.Build(s).Domain(claim.Domain), n.Edited(s, claim).Domain(claim.Domain)
	if diff := cmp.Diff(want, got, byFingerprint, cmp.AllowUnexported(trust.Party{})); diff != "" {
		t.Errorf("%s (-with the rest +alone):\n%s", edit, diff)
	}
}
