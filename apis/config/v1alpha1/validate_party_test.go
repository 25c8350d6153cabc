// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onParty mutates the party "server", which is probed.
func onParty(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { mutate(&c.TrustDomains[0].RelyingParties[0]) }
}

// onNodeParty mutates the party "agents", which is probed on each node.
func onNodeParty(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { mutate(&c.TrustDomains[1].RelyingParties[0]) }
}

func TestValidateParties(t *testing.T) {
	const server = "spec.trustDomains[0].relyingParties[0]"
	runValidateCases(t, []validateCase{
		{
			name:   "no name",
			mutate: onParty(func(p *RelyingParty) { p.Name = "" }),
			want:   []string{"FieldValueInvalid " + server + ".name"},
		},
		{
			name: "reporters",
			mutate: onParty(func(p *RelyingParty) {
				p.Reporters = &Reporters{
					Users: []string{"system:node:{member}", "alice"}, Groups: []string{"web:operators"}, ServiceAccounts: []string{"web", "web-{member}"},
				}
			}),
		},
		{
			name: "reporters that include every caller",
			mutate: onParty(func(p *RelyingParty) {
				p.Reporters = &Reporters{
					Users: []string{"system:anonymous"}, Groups: []string{"system:authenticated"},
					ServiceAccounts: []string{"-{member}"},
				}
			}),
			want: []string{"FieldValueInvalid " + server + ".reporters.users[0]", "FieldValueInvalid " + server + ".reporters.groups[0]", "FieldValueInvalid " + server + ".reporters.serviceAccounts[0]"},
		},
		{
			name:   "two parties of one name",
			mutate: onParty(func(p *RelyingParty) { p.Name = "client" }),
			want:   []string{"FieldValueDuplicate spec.trustDomains[0].relyingParties[1]"},
		},
		{
			name:   "parties of different domains may share a name",
			mutate: onNodeParty(func(p *RelyingParty) { p.Name = "server" }),
		},
		{
			name: "verifies what there is not",
			mutate: onParty(func(p *RelyingParty) {
				p.Verifies = LeafSelection{Leaves: []string{"node-{node}", "web-client"}}
			}),
			want: []string{"FieldValueNotFound " + server + ".verifies.leaves[0]"},
		},
		{
			name: "verifies a usage that no leaf has",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].RelyingParties[1].Verifies = LeafSelection{Leaves: []string{"web-server"}, Usages: []Usage{ClientAuth}}
			},
			want:   []string{"FieldValueInvalid spec.trustDomains[0].relyingParties[1].verifies"},
			detail: "verifies: {nothing: true}",
		},
		{
			name: "verifies a usage that unlisted leaves may have",
			mutate: func(c *RotationConfigurationSpec) {
				domain := &c.TrustDomains[0]
				domain.UnlistedLeaves = &UnlistedLeaves{Drain: *duration(time.Hour)}
				domain.Leaves[1].Usages = []Usage{ServerAuth, ClientAuth}
				domain.RelyingParties[1].Verifies = LeafSelection{Usages: []Usage{ServerAuth}}
				domain.RelyingParties[1].Evidence = Evidence{Kind: EvidenceAcknowledgement}
			},
		},
		{
			name:   "presents what there is not",
			mutate: onParty(func(p *RelyingParty) { p.Presents = []string{"other"} }),
			want:   []string{"FieldValueNotFound " + server + ".presents[0]"},
		},
		{
			name: "a probe never sees the leaf of a client",
			mutate: onParty(func(p *RelyingParty) {
				p.Presents = append(p.Presents, "web-client")
				for i := range p.Evidence.TLSProbe.Endpoints {
					p.Evidence.TLSProbe.Endpoints[i].Presents = "web-server"
				}
			}),
			want: []string{
				"FieldValueInvalid " + server + ".presents[1]",
				"FieldValueRequired " + server + ".evidence.tlsProbe.endpoints",
				"FieldValueRequired " + server + ".evidence.tlsProbe.endpoints",
			},
			detail: "have another party present it",
		},
		{
			name: "a lone member cannot hold the leaves of the nodes",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[1].Presents = []string{"node-{node}"}
			},
			want:   []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[1].presents[0]"},
			detail: "forEachNode",
		},
		{
			name: "bad members",
			mutate: onParty(func(p *RelyingParty) {
				p.Members, p.Evidence = []string{"A"}, Evidence{Kind: EvidenceAcknowledgement}
			}),
			want: []string{"FieldValueInvalid " + server + ".members[0]"},
		},
		{
			name: "bad node selector",
			mutate: onNodeParty(func(p *RelyingParty) {
				p.ForEachNode = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			}),
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].forEachNode.matchExpressions[0].operator"},
		},
	})
}

func TestValidateEvidence(t *testing.T) {
	const evidence = "spec.trustDomains[0].relyingParties[0].evidence"
	runValidateCases(t, []validateCase{
		{
			name:   "no kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{} }),
			want:   []string{"FieldValueNotSupported " + evidence + ".kind"},
		},
		{
			name: "grace period with another kind",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, GracePeriod: duration(time.Second)}
			}),
			want: []string{"FieldValueInvalid " + evidence},
		},
		{
			name: "parameters of other kinds",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{
					Kind: EvidenceGracePeriod, GracePeriod: duration(time.Second), Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Second)},
					Lease: duration(time.Hour), Reason: "no reason",
				}
			}),
			want: []string{"FieldValueInvalid " + evidence, "FieldValueInvalid " + evidence, "FieldValueInvalid " + evidence},
		},
		{
			name:   "none without a reason",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone, Reason: " "} }),
			want:   []string{"FieldValueInvalid " + evidence + ".reason"},
		},
		{
			name:   "none with a book for a reason",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone, Reason: strings.Repeat("ä", 1025)} }),
			want:   []string{"FieldValueTooLong " + evidence + ".reason"},
		},
		{
			name:   "none with a reason",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone, Reason: strings.Repeat("ä", 1024)} }),
		},
	})
}
