// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
)

// onProbe mutates the probe of the party "server", which has two members.
func onProbe(mutate func(*TLSProbe)) func(*RotationConfigurationSpec) {
	return onParty(func(p *RelyingParty) { mutate(p.Evidence.TLSProbe) })
}

// onNodeProbe mutates the probe of the party "agents", which is probed on each node.
func onNodeProbe(mutate func(*TLSProbe)) func(*RotationConfigurationSpec) {
	return onNodeParty(func(p *RelyingParty) { mutate(p.Evidence.TLSProbe) })
}

func TestValidateEndpoints(t *testing.T) {
	const (
		endpoints     = "spec.trustDomains[0].relyingParties[0].evidence.tlsProbe.endpoints"
		nodeEndpoints = "spec.trustDomains[1].relyingParties[0].evidence.tlsProbe.endpoints"
	)
	runValidateCases(t, []validateCase{
		{
			name:   "none of one member",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints = p.Endpoints[:1] }),
			want:   []string{"FieldValueRequired " + endpoints},
			detail: "the member server-1 has no endpoint",
		},
		{
			name: "several of one member",
			mutate: onProbe(func(p *TLSProbe) {
				p.Endpoints = append(p.Endpoints, ProbeEndpoint{Member: "server-1", Address: "b:2"})
			}),
		},
		{
			name:   "of nobody, where there are several members",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints = append(p.Endpoints, ProbeEndpoint{Address: "b:2"}) }),
			want:   []string{"FieldValueRequired " + endpoints + "[2].member"},
		},
		{
			name:   "of a stranger",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints[1].Member = "server-2" }),
			want:   []string{"FieldValueNotSupported " + endpoints + "[1].member", "FieldValueRequired " + endpoints},
			detail: `"server-1"`,
		},
		{
			name: "of the lone member, which is named as the party",
			mutate: onParty(func(p *RelyingParty) {
				p.Members = nil
				p.Evidence.TLSProbe.Endpoints = []ProbeEndpoint{{Address: "a:1"}, {Member: "server", Address: "a:2"}}
			}),
		},
		{
			name: "of the lone member by its name",
			mutate: onParty(func(p *RelyingParty) {
				p.Members = []string{"x"}
				p.Evidence.TLSProbe.Endpoints = []ProbeEndpoint{{Address: "a:1"}}
			}),
		},
		{
			name:   "the same twice",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints = append(p.Endpoints, p.Endpoints[0]) }),
			want:   []string{"FieldValueDuplicate " + endpoints + "[2]"},
		},
		{
			name: "one address by two server names",
			mutate: onProbe(func(p *TLSProbe) {
				p.Endpoints = append(p.Endpoints, p.Endpoints[0])
				p.Endpoints[2].ServerName = "other"
			}),
		},
		{
			name:   "several of each node",
			mutate: onNodeProbe(func(p *TLSProbe) { p.Endpoints = append(p.Endpoints, ProbeEndpoint{Address: "{node}:2380"}) }),
		},
		{
			name:   "of one node",
			mutate: onNodeProbe(func(p *TLSProbe) { p.Endpoints[0].Member = "node-1" }),
			want:   []string{"FieldValueForbidden " + nodeEndpoints + "[0].member", "FieldValueRequired " + nodeEndpoints},
		},
	})
}

func TestValidateAddressesOfEndpoints(t *testing.T) {
	const (
		first     = "spec.trustDomains[0].relyingParties[0].evidence.tlsProbe.endpoints[0].address"
		nodeFirst = "spec.trustDomains[1].relyingParties[0].evidence.tlsProbe.endpoints[0].address"
	)
	for _, tc := range []struct {
		name, address string
		forEachNode   bool
		want, detail  string
	}{
		{name: "none", want: "FieldValueInvalid " + first},
		{name: "no port", address: "a", want: "FieldValueInvalid " + first},
		{name: "a port by name", address: "a:https", want: "FieldValueInvalid " + first},
		{name: "a port out of range", address: "a:65536", want: "FieldValueInvalid " + first},
		{name: "no host", address: ":1", want: "FieldValueInvalid " + first},
		{name: "the placeholder without nodes", address: "{node}:1", want: "FieldValueInvalid " + first},
		{name: "each node without the placeholder", address: "a:1", forEachNode: true, want: "FieldValueInvalid " + nodeFirst},
		{name: "a placeholder that is not the host", address: "{node}.example:1", forEachNode: true, want: "FieldValueInvalid " + nodeFirst, detail: "{node}:port"},
	} {
		mutate := onProbe(func(p *TLSProbe) { p.Endpoints[0].Address = tc.address })
		if tc.forEachNode {
			mutate = onNodeProbe(func(p *TLSProbe) { p.Endpoints[0].Address = tc.address })
		}
		runValidateCases(t, []validateCase{{name: tc.name, mutate: mutate, want: []string{tc.want}, detail: tc.detail}})
	}
}

func TestValidatePresentedAtEndpoints(t *testing.T) {
	const endpoints = "spec.trustDomains[1].relyingParties[0].evidence.tlsProbe.endpoints"
	// The agents present a second leaf at a second port.
	twoLeaves := func(mutate func(*TLSProbe)) func(*RotationConfigurationSpec) {
		return func(c *RotationConfigurationSpec) {
			second := c.TrustDomains[1].Leaves[0]
			second.SecretName = "peer-{node}"
			c.TrustDomains[1].Leaves = append(c.TrustDomains[1].Leaves, second)
			c.TrustDomains[1].RelyingParties[0].Presents = []string{"node-{node}", "peer-{node}"}
			probe := c.TrustDomains[1].RelyingParties[0].Evidence.TLSProbe
			probe.Endpoints = []ProbeEndpoint{{Address: "{node}:1", Presents: "node-{node}"}, {Address: "{node}:2", Presents: "peer-{node}"}}
			mutate(probe)
		}
	}
	runValidateCases(t, []validateCase{
		{name: "each leaf at its port", mutate: twoLeaves(func(*TLSProbe) {})},
		{
			name:   "a leaf at no port",
			mutate: twoLeaves(func(p *TLSProbe) { p.Endpoints = p.Endpoints[:1] }),
			want:   []string{"FieldValueRequired " + endpoints},
			detail: "presents: peer-{node}, or have another party with another kind of evidence present it",
		},
		{
			name:   "an endpoint that does not say what it presents",
			mutate: twoLeaves(func(p *TLSProbe) { p.Endpoints[1].Presents = "" }),
			want:   []string{"FieldValueRequired " + endpoints},
		},
		{
			name: "an endpoint that presents what the party does not",
			mutate: onNodeProbe(func(p *TLSProbe) {
				p.Endpoints = append(p.Endpoints, ProbeEndpoint{Address: "{node}:2", Presents: "other"})
			}),
			want: []string{"FieldValueInvalid " + endpoints + "[1].presents"},
		},
		{
			name: "one member presents one, the other the other",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Leaves[1].Usages = []Usage{ServerAuth, ClientAuth}
				party := &c.TrustDomains[0].RelyingParties[0]
				party.Presents = []string{"web-server", "web-client"}
				party.Evidence.TLSProbe.Endpoints[0].Presents, party.Evidence.TLSProbe.Endpoints[1].Presents = "web-server", "web-client"
			},
			want: []string{
				"FieldValueRequired spec.trustDomains[0].relyingParties[0].evidence.tlsProbe.endpoints",
				"FieldValueRequired spec.trustDomains[0].relyingParties[0].evidence.tlsProbe.endpoints",
			},
			detail: "no endpoint of server-0 presents the leaf web-client",
		},
	})
}

func TestValidateProbes(t *testing.T) {
	const (
		probe     = "spec.trustDomains[0].relyingParties[0].evidence.tlsProbe"
		nodeProbe = "spec.trustDomains[1].relyingParties[0].evidence.tlsProbe"
	)
	runValidateCases(t, []validateCase{
		{
			name:   "server name",
			mutate: onProbe(func(p *TLSProbe) { p.ServerName = "no name" }),
			want:   []string{"FieldValueInvalid " + probe + ".serverName"},
		},
		{
			name:   "server name that is an address",
			mutate: onProbe(func(p *TLSProbe) { p.ServerName = "::1" }),
		},
		{
			name:   "server name of an endpoint",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints[1].ServerName = "no name" }),
			want:   []string{"FieldValueInvalid " + probe + ".endpoints[1].serverName"},
		},
		{
			name:   "unknown client leaf",
			mutate: onProbe(func(p *TLSProbe) { p.ClientLeaf = "other" }),
			want:   []string{"FieldValueNotFound " + probe + ".clientLeaf"},
		},
		{
			name:   "client leaf that is none of a client",
			mutate: onProbe(func(p *TLSProbe) { p.ClientLeaf = "web-server" }),
			want:   []string{"FieldValueInvalid " + probe + ".clientLeaf"},
			detail: "ClientAuth",
		},
		{
			name:   "client leaf of an endpoint that is none of a client",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints[0].ClientLeaf = "web-server" }),
			want:   []string{"FieldValueInvalid " + probe + ".endpoints[0].clientLeaf"},
		},
		{
			name:   "client leaf for each node",
			mutate: onNodeProbe(func(p *TLSProbe) { p.ClientLeaf = "node-{node}" }),
			want:   []string{"FieldValueInvalid " + nodeProbe + ".clientLeaf"},
		},
		{
			name:   "unknown proof",
			mutate: onProbe(func(p *TLSProbe) { p.Proof = "Hope" }),
			want:   []string{"FieldValueNotSupported " + probe + ".proof"},
		},
		{
			name:   "handshakes with a server that verifies clients",
			mutate: onProbe(func(p *TLSProbe) { p.Proof = ProofHandshake }),
		},
		{
			name: "handshakes with a server that asks for no certificate",
			mutate: func(c *RotationConfigurationSpec) {
				onParty(func(p *RelyingParty) {
					p.Verifies, p.Evidence.TLSProbe.Proof = LeafSelection{Nothing: true}, ProofHandshake
				})(c)
			},
			want:   []string{"FieldValueInvalid " + probe + ".proof"},
			detail: "ClientAuth",
		},
		{
			name: "a probed party that verifies no client",
			mutate: onParty(func(p *RelyingParty) {
				p.Verifies = LeafSelection{Leaves: []string{"web-server"}}
			}),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].relyingParties[0].evidence.kind"},
			detail: "verifies: {nothing: true}",
		},
		{
			name:   "interval and timeout",
			mutate: onProbe(func(p *TLSProbe) { p.Interval, p.Timeout = duration(0), duration(-1) }),
			want:   []string{"FieldValueInvalid " + probe + ".interval", "FieldValueInvalid " + probe + ".timeout"},
		},
	})
}
