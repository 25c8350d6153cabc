// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const defaultServiceName = "service"

// mtlsNames are the names of the objects and leaves of the preset mtls-service.
type mtlsNames struct{ prefix string }

func (n mtlsNames) signer() string              { return n.prefix + "-signer" }
func (n mtlsNames) bundle() string              { return n.prefix + "-ca-bundle" }
func (n mtlsNames) server() string              { return n.prefix + "-server" }
func (n mtlsNames) client(client string) string { return n.prefix + "-client-" + client }

// clientsOf returns the short names of all clients. The server is probed with the leaf of the first.
func (p *MTLSServicePreset) clientsOf() []string {
	out := slices.Clone(p.Clients)
	for i := range p.ClientPods {
		out = append(out, p.ClientPods[i].Name)
	}
	return out
}

// expandMTLSService makes one trust domain in which the server and the clients verify each other.
func expandMTLSService(params MTLSServicePreset, namespace string) TrustDomain {
	names := mtlsNames{prefix: cmp.Or(params.Name, defaultServiceName)}
	policy := IssuancePolicy{Key: cmp.Or(params.Key, DefaultKeyAlgorithm)}
	dnsNames := slices.Clone(params.DNSNames)
	if len(dnsNames) == 0 {
		dnsNames = []string{fmt.Sprintf("%s.%s.svc", names.prefix, namespace), "localhost"}
	}

	domain := TrustDomain{
		Name:   names.prefix,
		Signer: Signer{SecretName: names.signer(), Policy: policy},
		Bundle: Bundle{ConfigMapName: names.bundle()},
		Leaves: []Leaf{{
			SecretName:  names.server(),
			CommonName:  names.server(),
			DNSNames:    dnsNames,
			IPAddresses: slices.Clone(params.IPAddresses),
			Usages:      []Usage{ServerAuth},
			Policy:      policy,
		}},
		RelyingParties: []RelyingParty{mtlsServer(params, names, cmp.Or(params.ServerName, firstExact(dnsNames)))},
	}
	for _, client := range params.clientsOf() {
		domain.Leaves = append(domain.Leaves, Leaf{
			SecretName: names.client(client),
			CommonName: names.client(client),
			Usages:     []Usage{ClientAuth},
			Policy:     policy,
		})
	}
	for _, client := range params.Clients {
		domain.RelyingParties = append(domain.RelyingParties, mtlsClient(client, names))
	}
	for i := range params.ClientPods {
		client := &params.ClientPods[i]
		party := mtlsClient(client.Name, names)
		party.Pods = &PodMembers{Selector: *client.Selector.DeepCopy()}
		if client.ServiceAccountName != "" {
			party.Reporters = &Reporters{ServiceAccounts: []string{client.ServiceAccountName}}
		}
		domain.RelyingParties = append(domain.RelyingParties, party)
	}
	return domain
}

func mtlsClient(client string, names mtlsNames) RelyingParty {
	return RelyingParty{
		Name:     "client-" + client,
		Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
		Presents: []string{names.client(client)},
		Evidence: Evidence{Kind: EvidenceAcknowledgement},
	}
}

// mtlsServer has one member for each pod, or for each probed address. A single address belongs to a member with
// the name of the party.
func mtlsServer(params MTLSServicePreset, names mtlsNames, serverName string) RelyingParty {
	party := RelyingParty{
		Name:     "server",
		Verifies: LeafSelection{Usages: []Usage{ClientAuth}},
		Presents: []string{names.server()},
		Evidence: Evidence{
			Kind: EvidenceTLSProbe,
			TLSProbe: &TLSProbe{
				ServerName: serverName,
				ClientLeaf: names.client(params.clientsOf()[0]),
			},
		},
	}
	if params.ServerPods != nil {
		party.Pods = params.ServerPods.members()
	}
	for i, address := range params.ServerAddresses {
		endpoint := ProbeEndpoint{Address: address}
		if len(params.ServerAddresses) > 1 {
			endpoint.Member = fmt.Sprintf("server-%d", i)
			party.Members = append(party.Members, endpoint.Member)
		}
		party.Evidence.TLSProbe.Endpoints = append(party.Evidence.TLSProbe.Endpoints, endpoint)
	}
	return party
}

func (p *MTLSServerPods) members() *PodMembers {
	return &PodMembers{Selector: *p.Selector.DeepCopy(), ContainerPort: p.ContainerPort, PortName: p.PortName}
}

// firstExact returns the first name that is not a wildcard, "" if there is none. A certificate is verified for a
// name, not for a pattern.
func firstExact(dnsNames []string) string {
	for _, name := range dnsNames {
		if !strings.HasPrefix(name, "*.") {
			return name
		}
	}
	return ""
}
