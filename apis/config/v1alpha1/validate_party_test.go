// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onParty mutates the party "server", which is probed.
func onParty(mutate func(*RelyingParty)) func(*RotationConfiguration) {
	return func(c *RotationConfiguration) { mutate(&c.TrustDomains[0].RelyingParties[0]) }
}

// onNodeParty mutates the party "agents", which is probed on each node.
func onNodeParty(mutate func(*RelyingParty)) func(*RotationConfiguration) {
	return func(c *RotationConfiguration) { mutate(&c.TrustDomains[1].RelyingParties[0]) }
}

func TestValidateParties(t *testing.T) {
	const server = "trustDomains[0].relyingParties[0]"
	runValidateCases(t, []validateCase{
		{
			name:   "no name",
			mutate: onParty(func(p *RelyingParty) { p.Name = "" }),
			want:   []string{"FieldValueRequired " + server + ".name"},
		},
		{
			name:   "two parties of one name",
			mutate: onParty(func(p *RelyingParty) { p.Name = "client" }),
			want:   []string{"FieldValueDuplicate trustDomains[0].relyingParties[1].name"},
		},
		{
			name:   "parties of different domains may share a name",
			mutate: onNodeParty(func(p *RelyingParty) { p.Name = "server" }),
		},
		{
			name: "verifies what there is not",
			mutate: onParty(func(p *RelyingParty) {
				p.Verifies = LeafSelection{Usages: []Usage{"Any"}, Leaves: []string{"node-{node}", "web-client", "web-client"}}
			}),
			want: []string{
				"FieldValueNotSupported " + server + ".verifies.usages[0]",
				"FieldValueNotFound " + server + ".verifies.leaves[0]",
				"FieldValueDuplicate " + server + ".verifies.leaves[2]",
			},
		},
		{
			name:   "presents what there is not",
			mutate: onParty(func(p *RelyingParty) { p.Presents = []string{"other"} }),
			want:   []string{"FieldValueNotFound " + server + ".presents[0]"},
		},
		{
			name:   "a lone member cannot hold the leaves of the nodes",
			mutate: func(c *RotationConfiguration) { c.TrustDomains[1].RelyingParties[1].Presents = []string{"node-{node}"} },
			want:   []string{"FieldValueInvalid trustDomains[1].relyingParties[1].presents[0]"},
			detail: "forEachNode",
		},
		{
			name:   "members and nodes",
			mutate: onNodeParty(func(p *RelyingParty) { p.Members = []string{"a"} }),
			want:   []string{"FieldValueForbidden trustDomains[1].relyingParties[0].members"},
		},
		{
			name:   "bad and duplicate members",
			mutate: onParty(func(p *RelyingParty) { p.Members = []string{"A", "A"} }),
			want: []string{
				"FieldValueInvalid " + server + ".members[0]",
				"FieldValueDuplicate " + server + ".members[1]",
			},
		},
		{
			name: "bad node selector",
			mutate: onNodeParty(func(p *RelyingParty) {
				p.ForEachNode = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			}),
			want: []string{"FieldValueInvalid trustDomains[1].relyingParties[0].forEachNode.matchExpressions[0].operator"},
		},
	})
}

func TestValidateEvidence(t *testing.T) {
	const evidence = "trustDomains[0].relyingParties[0].evidence"
	runValidateCases(t, []validateCase{
		{
			name:   "no kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{} }),
			want:   []string{"FieldValueRequired " + evidence + ".kind"},
		},
		{
			name:   "unknown kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: "hope"} }),
			want:   []string{"FieldValueNotSupported " + evidence + ".kind"},
		},
		{
			name:   "probe without parameters",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceTLSProbe} }),
			want:   []string{"FieldValueRequired " + evidence + ".tlsProbe"},
		},
		{
			name:   "parameters of a probe with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			want:   []string{"FieldValueForbidden " + evidence + ".tlsProbe"},
		},
		{
			name:   "grace period without one",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod} }),
			want:   []string{"FieldValueRequired " + evidence + ".gracePeriod"},
		},
		{
			name:   "grace period of zero",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod, GracePeriod: duration(0)} }),
			want:   []string{"FieldValueInvalid " + evidence + ".gracePeriod"},
		},
		{
			name:   "grace period with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceAcknowledgement, GracePeriod: duration(1)} }),
			want:   []string{"FieldValueForbidden " + evidence + ".gracePeriod"},
		},
		{
			name:   "renewed without a leaf to look at",
			mutate: onParty(func(p *RelyingParty) { p.Presents, p.Evidence = nil, Evidence{Kind: EvidenceRenewed} }),
			want:   []string{"FieldValueRequired trustDomains[0].relyingParties[0].presents"},
		},
	})
}

func TestValidateProbes(t *testing.T) {
	const (
		probe     = "trustDomains[0].relyingParties[0].evidence.tlsProbe"
		nodeProbe = "trustDomains[1].relyingParties[0].evidence.tlsProbe"
	)
	runValidateCases(t, []validateCase{
		{
			name:   "no addresses",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = nil }),
			want:   []string{"FieldValueRequired " + probe + ".addresses"},
		},
		{
			name:   "fewer addresses than members",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"a:1"} }),
			want:   []string{"FieldValueInvalid " + probe + ".addresses"},
			detail: "must be 2",
		},
		{
			name:   "more addresses than the single member",
			mutate: onParty(func(p *RelyingParty) { p.Members = nil }),
			want:   []string{"FieldValueInvalid " + probe + ".addresses"},
			detail: "name the members",
		},
		{
			name:   "several addresses for each node",
			mutate: onNodeParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"{node}:1", "{node}:2"} }),
			want:   []string{"FieldValueInvalid " + nodeProbe + ".addresses"},
			detail: "single entry",
		},
		{
			name:   "address of each node without the placeholder",
			mutate: onNodeParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"a:1"} }),
			want:   []string{"FieldValueInvalid " + nodeProbe + ".addresses[0]"},
		},
		{
			name:   "placeholder that is not the host",
			mutate: onNodeParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"{node}.example:1"} }),
			want:   []string{"FieldValueInvalid " + nodeProbe + ".addresses[0]"},
			detail: "{node}:port",
		},
		{
			name:   "placeholder without nodes",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"{node}:1", "b:1"} }),
			want:   []string{"FieldValueInvalid " + probe + ".addresses[0]"},
		},
		{
			name:   "no port, and a port by name",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"a", "b:https"} }),
			want:   []string{"FieldValueInvalid " + probe + ".addresses[0]", "FieldValueInvalid " + probe + ".addresses[1]"},
		},
		{
			name:   "port out of range, and no host",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"a:65536", ":1"} }),
			want:   []string{"FieldValueInvalid " + probe + ".addresses[0]", "FieldValueInvalid " + probe + ".addresses[1]"},
		},
		{
			name:   "one address for two members",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.Addresses = []string{"a:1", "a:1"} }),
			want:   []string{"FieldValueDuplicate " + probe + ".addresses[1]"},
		},
		{
			name:   "server name",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.ServerName = "no name" }),
			want:   []string{"FieldValueInvalid " + probe + ".serverName"},
		},
		{
			name:   "server name that is an address",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.ServerName = "::1" }),
		},
		{
			name:   "unknown client leaf",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.ClientLeaf = "other" }),
			want:   []string{"FieldValueNotFound " + probe + ".clientLeaf"},
		},
		{
			name:   "client leaf that is none of a client",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe.ClientLeaf = "web-server" }),
			want:   []string{"FieldValueInvalid " + probe + ".clientLeaf"},
			detail: "ClientAuth",
		},
		{
			name:   "client leaf for each node",
			mutate: onNodeParty(func(p *RelyingParty) { p.Evidence.TLSProbe.ClientLeaf = "node-{node}" }),
			want:   []string{"FieldValueInvalid " + nodeProbe + ".clientLeaf"},
		},
		{
			name: "interval and timeout",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence.TLSProbe.Interval, p.Evidence.TLSProbe.Timeout = duration(0), duration(-1)
			}),
			want: []string{"FieldValueInvalid " + probe + ".interval", "FieldValueInvalid " + probe + ".timeout"},
		},
	})
}
