// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// largeConfiguration counts the domains of a configuration, their leaves per node, single leaves, and members.
type largeConfiguration struct {
	domains, perNode, once, members, parties, presents, endpoints int
}

func (l largeConfiguration) spec() *configv1alpha1.RotationConfigurationSpec {
	every := &metav1.LabelSelector{MatchLabels: map[string]string{"role": "x"}}
	out := &configv1alpha1.RotationConfigurationSpec{}
	for i := range l.domains {
		d := configv1alpha1.TrustDomain{
			Name: fmt.Sprintf("d%d", i), Signer: configv1alpha1.Signer{SecretName: fmt.Sprintf("s%d", i)},
			Bundle: configv1alpha1.Bundle{ConfigMapName: fmt.Sprintf("b%d", i)},
		}
		for j := range l.perNode {
			d.Leaves = append(d.Leaves, configv1alpha1.Leaf{
				SecretName: fmt.Sprintf("l%d-%d-{node}", i, j), ForEachNode: every, CommonName: "x", Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth},
			})
		}
		for j := range l.once {
			d.Leaves = append(d.Leaves, configv1alpha1.Leaf{
				SecretName: fmt.Sprintf("o%d-%d", i, j), CommonName: "x", Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth},
			})
		}
		for j := range l.parties {
			p := configv1alpha1.RelyingParty{Name: fmt.Sprintf("p%d", j), Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement}}
			for k := range l.members {
				p.Members = append(p.Members, fmt.Sprintf("m%d", k))
			}
			for k := range l.presents {
				p.Presents = append(p.Presents, fmt.Sprintf("o%d-%d", i, k))
			}
			if l.endpoints > 0 {
				p.Members, p.ForEachNode = nil, every
				p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceTLSProbe, TLSProbe: &configv1alpha1.TLSProbe{
					Endpoints: make([]configv1alpha1.ProbeEndpoint, l.endpoints),
				}}
			}
			d.RelyingParties = append(d.RelyingParties, p)
		}
		out.TrustDomains = append(out.TrustDomains, d)
	}
	configv1alpha1.SetDefaults(out)
	return out
}

func clusterOf(nodes int, configurations map[string]*configv1alpha1.RotationConfigurationSpec) *Sources {
	s := &Sources{Namespace: "ns", Configurations: map[string]*Configuration{}, Nodes: map[string]*Node{}}
	for name, spec := range configurations {
		s.Configurations[name] = &Configuration{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Loaded: spec}
	}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		s.Nodes[name] = &Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "x"}}, Addresses: []string{"192.0.2.1"}}
	}
	return s
}

// TestTooLargeConfiguration: the problem of a configuration beyond a bound names the bound. Another configuration
// of the namespace still takes effect.
func TestTooLargeConfiguration(t *testing.T) {
	small := largeConfiguration{domains: 1, once: 1, parties: 1, members: 1}
	for _, tc := range []struct {
		name  string
		nodes int
		large largeConfiguration
		want  string
	}{
		{"a large one", 1000, largeConfiguration{domains: 4, perNode: 3, parties: 1, members: 40, once: 1, presents: 1}, ""},
		{"more nodes than a cluster has", MaxNodes + 1, largeConfiguration{domains: 1, perNode: 1, parties: 1, members: 1}, "more than the 5000 of one selector"},
		{"more leaves than a roster records", 1000, largeConfiguration{domains: 1, perNode: 6, parties: 1, members: 1}, "trust domain d0: 6000 leaves"},
		{"more members than a roster records", 0, largeConfiguration{domains: 1, once: 1, parties: 2, members: 3000}, "trust domain d0: 6000 members"},
		{"more leaves in all", 1000, largeConfiguration{domains: 5, perNode: 5, parties: 1, members: 1}, "all trust domains: 25000 leaves"},
		{"more members in all", 0, largeConfiguration{domains: 5, once: 1, parties: 1, members: 5000}, "all trust domains: 25000 members"},
		{"members that present much", 0, largeConfiguration{domains: 1, once: 2000, parties: 1, members: 5000, presents: 2000}, "links"},
		{"nodes that are probed at many ports", 5000, largeConfiguration{domains: 1, once: 1, parties: 1, endpoints: 500}, "links"},
		{"members that verify much", 0, largeConfiguration{domains: 1, once: 2000, parties: 1, members: 500}, "links"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other := small.spec()
			other.TrustDomains[0].Name, other.TrustDomains[0].Signer.SecretName = "other", "other-signer"
			other.TrustDomains[0].Bundle.ConfigMapName, other.TrustDomains[0].Leaves[0].SecretName = "other-bundle", "other-leaf"
			n := Build(clusterOf(tc.nodes, map[string]*configv1alpha1.RotationConfigurationSpec{"large": tc.large.spec(), "other": other}))
			if n.Domain("other") == nil {
				t.Error("the other configuration has no effect")
			}
			var problems []trust.Problem
			for _, p := range n.Problems {
				if p.Object == objectName(ConfigurationKind, "large") {
					problems = append(problems, p)
				}
			}
			switch {
			case tc.want == "" && (len(problems) > 0 || n.Domain("d0") == nil):
				t.Errorf("problems %v", problems)
			case tc.want != "" && (len(problems) != 1 || problems[0].Reason != ReasonInvalidConfiguration || !strings.Contains(problems[0].Message, tc.want)):
				t.Errorf("problems %v, want one about %q", problems, tc.want)
			case tc.want != "" && n.Domain("d0") != nil:
				t.Error("it has an effect all the same")
			}
		})
	}
}
