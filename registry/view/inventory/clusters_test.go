// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func TestClusters(t *testing.T) {
	const far = "clusters: [{name: east, kubeconfigSecretName: east-kubeconfig}]\n" +
		"copies: [{kind: ConfigMap, name: web-bundle, cluster: east, toNamespace: demo}]\n"
	n := inventory.Build(sources(t, configuration("config", webConfig+far), node("n1", "10.0.0.1")))
	if len(n.Problems) > 0 {
		t.Fatalf("problems %v", n.Problems)
	}
	want := map[string]*inventory.Cluster{"east": {Name: "east", Configuration: "config", SecretName: "east-kubeconfig"}}
	if diff := cmp.Diff(want, n.Clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if claim, ok := n.Claim(trust.SecretKind, "east-kubeconfig"); !ok || claim.Kind != inventory.ClaimKubeconfig {
		t.Errorf("the Secret is claimed as %v", claim)
	}
	if claim, _ := n.Claim(trust.ConfigMapKind, "web-bundle"); claim.Kind != inventory.ClaimBundle {
		t.Errorf("a copy in another cluster takes the name here: %v", claim)
	}
	carriers := n.Configured().Carriers
	if name := carriers[len(carriers)-1].Name; !strings.HasSuffix(name, "to demo/web-bundle in cluster east") {
		t.Errorf("the copy is called %q", name)
	}
}
