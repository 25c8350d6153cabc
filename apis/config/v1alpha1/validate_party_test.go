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
			want:   []string{"FieldValueRequired " + server + ".name"},
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
			name: "reporters who are everybody or nobody",
			mutate: onParty(func(p *RelyingParty) {
				p.Reporters = &Reporters{
					Users: []string{"", "a*", "{member}{member}", "{node}", "system:anonymous"}, Groups: []string{"{member}", "system:authenticated"},
					ServiceAccounts: []string{"a:b", "{member}.{member}", "-{member}"},
				}
			}),
			want: []string{
				"FieldValueRequired " + server + ".reporters.users[0]",
				"FieldValueInvalid " + server + ".reporters.users[1]",
				"FieldValueInvalid " + server + ".reporters.users[2]",
				"FieldValueInvalid " + server + ".reporters.users[3]",
				"FieldValueInvalid " + server + ".reporters.users[4]",
				"FieldValueInvalid " + server + ".reporters.groups[0]",
				"FieldValueInvalid " + server + ".reporters.groups[1]",
				"FieldValueInvalid " + server + ".reporters.serviceAccounts[0]",
				"FieldValueInvalid " + server + ".reporters.serviceAccounts[1]",
				"FieldValueInvalid " + server + ".reporters.serviceAccounts[2]",
			},
		},
		{
			name:   "two parties of one name",
			mutate: onParty(func(p *RelyingParty) { p.Name = "client" }),
			want:   []string{"FieldValueDuplicate spec.trustDomains[0].relyingParties[1].name"},
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
			name:   "verifies nothing and something",
			mutate: onParty(func(p *RelyingParty) { p.Verifies.Nothing = true }),
			want:   []string{"FieldValueForbidden " + server + ".verifies.nothing"},
		},
		{
			name: "verifies nothing and presents nothing",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[1].Verifies.Nothing = true
			},
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[1].verifies.nothing"},
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
			name:   "members and nodes",
			mutate: onNodeParty(func(p *RelyingParty) { p.Members = []string{"a"} }),
			want:   []string{"FieldValueForbidden spec.trustDomains[1].relyingParties[0].members"},
		},
		{
			name: "bad and duplicate members",
			mutate: onParty(func(p *RelyingParty) {
				p.Members, p.Evidence = []string{"A", "A"}, Evidence{Kind: EvidenceAcknowledgement}
			}),
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
			name: "grace period with another kind",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, GracePeriod: duration(time.Second)}
			}),
			want: []string{"FieldValueForbidden " + evidence + ".gracePeriod"},
		},
		{
			name: "renewed without a leaf to look at",
			mutate: onParty(func(p *RelyingParty) {
				p.Presents, p.Evidence = nil, Evidence{Kind: EvidenceRenewed, Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Second)}}
			}),
			want: []string{"FieldValueRequired spec.trustDomains[0].relyingParties[0].presents"},
		},
		{
			name:   "renewed without a delay",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].RelyingParties[1].Evidence.Renewed = nil },
			want:   []string{"FieldValueRequired spec.trustDomains[0].relyingParties[1].evidence.renewed"},
			detail: "minimumDelay",
		},
		{
			name: "renewed after no time",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].RelyingParties[1].Evidence.Renewed.MinimumDelay = *duration(time.Second - 1)
			},
			want: []string{"FieldValueInvalid spec.trustDomains[0].relyingParties[1].evidence.renewed.minimumDelay"},
		},
		{
			name: "parameters of other kinds",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{
					Kind: EvidenceGracePeriod, GracePeriod: duration(time.Second), Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Second)},
					Lease: duration(time.Hour), Reason: "no reason",
				}
			}),
			want: []string{
				"FieldValueForbidden " + evidence + ".lease", "FieldValueForbidden " + evidence + ".renewed", "FieldValueForbidden " + evidence + ".reason",
			},
		},
		{
			name: "a lease that ends before anybody can report again",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(time.Minute - 1)}
			}),
			want: []string{"FieldValueInvalid " + evidence + ".lease"},
		},
		{
			name: "a lease that hardly ends",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(720*time.Hour + 1)}
			}),
			want: []string{"FieldValueInvalid " + evidence + ".lease"},
		},
		{
			name: "leases at both ends of the range",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].RelyingParties[0].Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(time.Minute)}
				c.TrustDomains[0].RelyingParties[1].Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(720 * time.Hour)}
			},
		},
		{
			name:   "none without a reason",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone, Reason: " "} }),
			want:   []string{"FieldValueRequired " + evidence + ".reason"},
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
