// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"
)

// noEvidence returns a party with the evidence none.
func noEvidence(name string, verifies LeafSelection, presents ...string) RelyingParty {
	return RelyingParty{Name: name, Verifies: verifies, Presents: presents, Evidence: Evidence{Kind: EvidenceNone, Reason: "it is switched off"}}
}

func TestValidateCoverage(t *testing.T) {
	const web = "spec.trustDomains[0]"
	// onWeb replaces the parties of the domain web, which has the leaves web-server and web-client.
	onWeb := func(parties ...RelyingParty) func(*RotationConfigurationSpec) {
		return func(c *RotationConfigurationSpec) { c.TrustDomains[0].RelyingParties = parties }
	}
	server, client := validConfig().TrustDomains[0].RelyingParties[0], validConfig().TrustDomains[0].RelyingParties[1]
	runValidateCases(t, []validateCase{
		{
			name: "only parties that verify nothing",
			mutate: onWeb(noEvidence("a", LeafSelection{Nothing: true}, "web-server"),
				noEvidence("b", LeafSelection{Nothing: true}, "web-client")),
			want: []string{"FieldValueRequired " + web + ".relyingParties"},
		},
		{
			name:   "nobody verifies one leaf, nobody presents the other",
			mutate: onWeb(server),
			want:   []string{"FieldValueInvalid " + web + ".leaves[0]", "FieldValueInvalid " + web + ".leaves[1]"},
			detail: "no relying party verifies the leaf: declare who does",
		},
		{
			name:   "an operator vouches for who verifies and for who presents",
			mutate: onWeb(server, noEvidence("client", LeafSelection{Leaves: []string{"web-server"}}, "web-client")),
		},
		{
			name: "a server that is probed does not verify its own leaf, whatever it selects",
			mutate: func(c *RotationConfigurationSpec) {
				probed := server
				probed.Verifies = LeafSelection{}
				onWeb(probed, noEvidence("client", LeafSelection{Nothing: true}, "web-client"))(c)
			},
			want:   []string{"FieldValueInvalid " + web + ".leaves[0]"},
			detail: "a tlsProbe of server sees only whose client certificates it accepts",
		},
		{
			name: "a server that asks for no certificate",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Leaves = c.TrustDomains[0].Leaves[:1]
				delivers, verifies := server, client
				delivers.Verifies, delivers.Evidence.TLSProbe = LeafSelection{Nothing: true}, server.Evidence.TLSProbe.DeepCopy()
				delivers.Evidence.TLSProbe.ClientLeaf = ""
				verifies.Presents, verifies.Evidence = nil, Evidence{Kind: EvidenceAcknowledgement}
				onWeb(delivers, verifies)(c)
			},
		},
		{
			name: "unlisted leaves and somebody who verifies them",
			mutate: func(c *RotationConfigurationSpec) {
				c.Aggregate.Leaves = []string{"node-{node}"}
				c.TrustDomains[0].Leaves, c.TrustDomains[0].UnlistedLeaves = nil, &UnlistedLeaves{Drain: *duration(time.Hour)}
				onWeb(RelyingParty{Name: "kube-apiserver", Evidence: Evidence{Kind: EvidenceGracePeriod, GracePeriod: duration(time.Minute)}})(c)
			},
		},
	})
}

func TestValidateReleasedMembers(t *testing.T) {
	release := func(names ...string) func(*RotationConfigurationSpec) {
		return func(c *RotationConfigurationSpec) { c.TrustDomains[0].ReleasedMembers = names }
	}
	const released = "spec.trustDomains[0].releasedMembers"
	runValidateCases(t, []validateCase{
		{name: "a member of the past", mutate: release("agents/node-1")},
		{name: "a party, and nobody", mutate: release("agents", "/node-1"), want: []string{"FieldValueInvalid " + released + "[0]", "FieldValueInvalid " + released + "[1]"}},
		{name: "one twice", mutate: release("agents/node-1", "agents/node-1"), want: []string{"FieldValueDuplicate " + released + "[1]"}},
	})
}

func TestValidateReleasedLeaves(t *testing.T) {
	const released = "spec.trustDomains[0].releasedLeaves"
	release := func(names ...string) func(*RotationConfigurationSpec) {
		return func(c *RotationConfigurationSpec) { c.TrustDomains[0].ReleasedLeaves = names }
	}
	runValidateCases(t, []validateCase{
		{name: "a leaf of the past", mutate: release("web-former")},
		{name: "a leaf of another domain", mutate: release("node-{node}"), want: []string{"FieldValueInvalid " + released + "[0]"}},
		{
			name:   "a leaf that is declared",
			mutate: release("web-server"),
			want:   []string{"FieldValueInvalid " + released + "[0]"},
			detail: "remove it there first",
		},
		{name: "the signer", mutate: release("web-signer"), want: []string{"FieldValueInvalid " + released + "[0]"}},
		{name: "one twice", mutate: release("a", "a"), want: []string{"FieldValueDuplicate " + released + "[1]"}},
		{name: "no name", mutate: release(""), want: []string{"FieldValueInvalid " + released + "[0]"}},
	})
}
