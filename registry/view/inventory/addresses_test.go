// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// issueFor issues a leaf with the given addresses.
func issueFor(t *testing.T, ca *pki.Pair, addresses ...string) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: addresses[0], IPAddresses: addresses, DNSNames: []string{"web.svc"},
		Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: ca.Certificate.NotAfter.Sub(testTime) / 2,
	}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// TestKubeletsClaim: kubelets report any addresses in the status of their nodes. The nodes n1 and n2 belong to the
// domain, and worker does not.
func TestKubeletsClaim(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	worker := func(addresses ...string) *corev1.Node {
		n := node("worker", addresses...)
		n.Labels = nil
		return n
	}
	for name, tc := range map[string]struct {
		config  string
		objects []any
		// addresses of the leaves, and of the probes, by node. A node that is missing here has no leaf.
		addresses map[string][]string
		probes    map[string]string
		// problems are the beginnings of all problems.
		problems []string
	}{
		"honest": {
			objects:   []any{node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), worker("10.0.0.3")},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
		},
		"loopback and metadata besides": {
			objects:   []any{node("n1", "127.0.0.1", "10.0.0.1", "169.254.169.254"), node("n2", "10.0.0.2")},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n1 AddressNotBelieved: its kubelet reports the InternalIP 127.0.0.1, but it is loopback"},
		},
		"nothing but loopback": {
			objects:   []any{node("n1", "::1"), node("n2", "10.0.0.2")},
			addresses: map[string][]string{"n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "", "n2": "10.0.0.2:8443"},
			problems: []string{
				"Node/n1 NodeWithoutAddress: the node has no InternalIP that is filterNode", "Node/n1 NodeWithoutAddress: the node has no InternalIP that is filterNode",
				"Node/n1 AddressNotBelieved: ",
			},
		},
		"outside of the ranges of nodes": {
			config:    webConfig + "nodeCIDRs: [10.0.0.0/24]\n",
			objects:   []any{node("n1", "10.0.0.1", "10.0.1.1"), node("n2", "10.0.0.2")},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n1 AddressNotBelieved: its kubelet reports the InternalIP 10.0.1.1, but it is outside"},
		},
		"a Service": {
			config:    webConfig + "serviceCIDRs: [10.96.0.0/12]\n",
			objects:   []any{node("n1", "10.96.0.1", "10.0.0.1"), node("n2", "10.0.0.2")},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n1 AddressNotBelieved: its kubelet reports the InternalIP 10.96.0.1, but it is in a range of Service"},
		},
		"another node's, which has a leaf": {
			objects: []any{
				node("n1", "10.0.0.1"), node("n2", "10.0.0.2", "10.0.0.1"), pairSecret(t, "web-serving-n1", issueFor(t, ca, "10.0.0.1")),
			},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n2 AddressCollision: its kubelet reports the InternalIP 10.0.0.1, but node n1 reports it too, and has it"},
		},
		"another node's, by a node of no leaf": {
			objects: []any{
				node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), worker("10.0.0.1"), pairSecret(t, "web-serving-n1", issueFor(t, ca, "10.0.0.1")),
			},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
		},
		"nobody's yet": {
			objects:   []any{node("n1", "10.0.0.1", "10.0.0.9"), node("n2", "10.0.0.2", "10.0.0.9")},
			addresses: map[string][]string{"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n1 AddressCollision: ", "Node/n2 AddressCollision: "},
		},
		"in both leaves": {
			objects: []any{
				node("n1", "10.0.0.1", "10.0.0.9"), node("n2", "10.0.0.2", "10.0.0.9"),
				pairSecret(t, "web-serving-n1", issueFor(t, ca, "10.0.0.1", "10.0.0.9")),
				pairSecret(t, "web-serving-n2", issueFor(t, ca, "10.0.0.2", "10.0.0.9")),
			},
			// Both leaves keep their addresses.
			addresses: map[string][]string{"n1": {"10.0.0.1", "10.0.0.9"}, "n2": {"10.0.0.2", "10.0.0.9"}},
			probes:    map[string]string{"n1": "10.0.0.1:8443", "n2": "10.0.0.2:8443"},
			problems:  []string{"Node/n1 AddressCollision: ", "Node/n2 AddressCollision: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.config == "" {
				tc.config = webConfig
			}
			n := inventory.Build(sources(t, append(tc.objects, configuration("config", tc.config))...))
			d := n.Domain("web")
			got, probes := map[string][]string{}, map[string]string{}
			for i := range d.Leaves {
				if name, found := strings.CutPrefix(d.Leaves[i].Name, "web-serving-"); found {
					got[name] = d.Leaves[i].Policy.Profile.IPAddresses
				}
			}
			for i := range d.Parties[0].Members {
				m := &d.Parties[0].Members[i]
				probes[m.Name] = m.Probes[0].Address
			}
			if diff := cmp.Diff(tc.addresses, got); diff != "" {
				t.Errorf("addresses of leaves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.probes, probes); diff != "" {
				t.Errorf("probes (-want +got):\n%s", diff)
			}
			problems := strings.Split(strings.TrimSpace(allProblems(n)), "\n")
			if allProblems(n) == "" {
				problems = nil
			}
			if len(problems) != len(tc.problems) {
				t.Fatalf("problems:\n%s\nwant %d", allProblems(n), len(tc.problems))
			}
			for i, want := range tc.problems {
				if !strings.HasPrefix(problems[i], want) {
					t.Errorf("problem %q, want %q...", problems[i], want)
				}
			}
		})
	}
}
