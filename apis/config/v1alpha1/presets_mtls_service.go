// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const defaultServiceName = "service"

// mtlsNames are the names of the objects and leaves of the preset mtls-service.
type mtlsNames struct{ prefix string }

func (n mtlsNames) signer() string              { return n.prefix + "-signer" }
func (n mtlsNames) bundle() string              { return n.prefix + "-ca-bundle" }
func (n mtlsNames) server() string              { return n.prefix + "-server" }
func (n mtlsNames) client(client string) string { return n.prefix + "-client-" + client }

// expandMTLSService makes one trust domain in which the server and the clients verify each other.
func expandMTLSService(params MTLSServicePreset, namespace string) TrustDomain {
	names := mtlsNames{prefix: cmp.Or(params.Name, defaultServiceName)}
	policy := IssuancePolicy{Key: cmp.Or(params.Key, DefaultKeyAlgorithm)}
	dnsNames := params.DNSNames
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
			DNSNames:    append([]string(nil), dnsNames...),
			IPAddresses: append([]string(nil), params.IPAddresses...),
			Usages:      []Usage{ServerAuth},
			Policy:      policy,
		}},
		RelyingParties: []RelyingParty{mtlsServer(params, names, cmp.Or(params.ServerName, dnsNames[0]))},
	}
	for _, client := range params.Clients {
		domain.Leaves = append(domain.Leaves, Leaf{
			SecretName: names.client(client),
			CommonName: names.client(client),
			Usages:     []Usage{ClientAuth},
			Policy:     policy,
		})
		domain.RelyingParties = append(domain.RelyingParties, RelyingParty{
			Name:     "client-" + client,
			Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
			Presents: []string{names.client(client)},
			Evidence: Evidence{Kind: EvidenceAcknowledgement},
		})
	}
	return domain
}

// mtlsServer has one member for each address that is probed; the only member has the name of the party.
func mtlsServer(params MTLSServicePreset, names mtlsNames, serverName string) RelyingParty {
	party := RelyingParty{
		Name:     "server",
		Verifies: LeafSelection{Usages: []Usage{ClientAuth}},
		Presents: []string{names.server()},
		Evidence: Evidence{
			Kind: EvidenceTLSProbe,
			TLSProbe: &TLSProbe{
				ServerName: serverName,
				ClientLeaf: names.client(params.Clients[0]),
			},
		},
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

func validateMTLSService(params *MTLSServicePreset, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := mtlsNames{prefix: cmp.Or(params.Name, defaultServiceName)}
	for _, msg := range validation.IsDNS1123Label(names.prefix) {
		errs = append(errs, field.Invalid(path.Child("name"), params.Name, msg))
	}
	if len(names.server()) > maxCommonName {
		errs = append(errs, field.TooLong(path.Child("name"), params.Name, maxCommonName-len("-server")))
	}

	clients := path.Child("clients")
	if len(params.Clients) == 0 {
		errs = append(errs, field.Required(clients, "the server is probed with the leaf of a client"))
	}
	errs = append(errs, validateSet(params.Clients, clients, func(client string, path *field.Path) field.ErrorList {
		var errs field.ErrorList
		for _, msg := range validation.IsDNS1123Label(client) {
			errs = append(errs, field.Invalid(path, client, msg))
		}
		if excess := len(names.client(client)) - maxCommonName; excess > 0 {
			errs = append(errs, field.Invalid(path, client, fmt.Sprintf(
				"the common name %s has %d characters more than the limit of %d", names.client(client), excess, maxCommonName)))
		}
		return errs
	})...)

	errs = append(errs, validateSet(params.DNSNames, path.Child("dnsNames"), validateDNSName)...)
	errs = append(errs, validateSet(params.IPAddresses, path.Child("ipAddresses"), validateIP)...)
	addresses := path.Child("serverAddresses")
	if len(params.ServerAddresses) == 0 {
		errs = append(errs, field.Required(addresses, "the server is proven by probing it"))
	}
	errs = append(errs, validateSet(params.ServerAddresses, addresses, validateHostPort)...)
	errs = append(errs, validateServerName(params.ServerName, path.Child("serverName"))...)
	return append(errs, validateKey(params.Key, path.Child("key"))...)
}
