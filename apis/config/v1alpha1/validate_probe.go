// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateProbe expects a probe, with defaults, of a party with evidence of any kind.
func validateProbe(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	probe, endpoints := party.Evidence.TLSProbe, path.Child("endpoints")
	var errs field.ErrorList
	switch {
	case party.Pods != nil && len(probe.Endpoints) > 0:
		errs = append(errs, field.Forbidden(endpoints, "pods are probed at their own addresses: give pods.containerPort or pods.portName"))
	case party.Pods == nil && len(probe.Endpoints) == 0:
		errs = append(errs, field.Required(endpoints, "at least one for each member"))
	}
	seen := sets.New[ProbeEndpoint]()
	for i, endpoint := range probe.Endpoints {
		if party.Pods != nil {
			break
		}
		at := endpoints.Index(i)
		key := ProbeEndpoint{Member: endpoint.Member, Address: endpoint.Address, ServerName: endpoint.ServerName}
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(at, endpoint.Address))
			continue
		}
		seen.Insert(key)
		errs = append(errs, validateProbeEndpoint(party, &endpoint, domain, at)...)
	}
	if party.Pods == nil {
		errs = append(errs, validateEndpointsOfMembers(party, endpoints)...)
	}
	errs = append(errs, validateServerName(probe.ServerName, path.Child("serverName"))...)
	errs = append(errs, validateClientLeaf(probe.ClientLeaf, domain, path.Child("clientLeaf"))...)
	errs = append(errs, validateProof(party, domain, path.Child("proof"))...)
	errs = append(errs, validateDuration(probe.Interval, path, "interval")...)
	return append(errs, validateDuration(probe.Timeout, path, "timeout")...)
}

func validateProbeEndpoint(party *RelyingParty, endpoint *ProbeEndpoint, domain *declaredDomain, path *field.Path) field.ErrorList {
	probe := party.Evidence.TLSProbe
	errs := validateEndpointMember(party, endpoint.Member, path.Child("member"))
	errs = append(errs, validateAddress(endpoint.Address, party.ForEachNode != nil, path.Child("address"))...)
	if endpoint.Presents != "" && !slices.Contains(party.Presents, endpoint.Presents) {
		errs = append(errs, field.Invalid(path.Child("presents"), endpoint.Presents, "must be one of the leaves that the party presents"))
	}
	if endpoint.ServerName != probe.ServerName {
		errs = append(errs, validateServerName(endpoint.ServerName, path.Child("serverName"))...)
	}
	if endpoint.ClientLeaf != probe.ClientLeaf {
		errs = append(errs, validateClientLeaf(endpoint.ClientLeaf, domain, path.Child("clientLeaf"))...)
	}
	return errs
}

func validateEndpointMember(party *RelyingParty, member string, path *field.Path) field.ErrorList {
	switch {
	case party.ForEachNode != nil && member != "":
		return field.ErrorList{field.Forbidden(path, "must be empty with forEachNode: the endpoint stands for every node")}
	case party.ForEachNode != nil:
		return nil
	case member == "":
		return field.ErrorList{field.Required(path, "the party has several members: say which of them serves there")}
	case !slices.Contains(membersOf(party), member):
		return field.ErrorList{field.NotSupported(path, member, membersOf(party))}
	}
	return nil
}

// membersOf returns the names of the members of a party that the configuration lists.
func membersOf(party *RelyingParty) []string {
	if len(party.Members) == 0 {
		return []string{party.Name}
	}
	return party.Members
}

// validateEndpointsOfMembers requires an endpoint for each member, and for each leaf that it presents.
func validateEndpointsOfMembers(party *RelyingParty, path *field.Path) field.ErrorList {
	endpoints := party.Evidence.TLSProbe.Endpoints
	members := membersOf(party)
	if party.ForEachNode != nil {
		members = []string{""}
	}
	presented := make(map[string]sets.Set[string], len(members))
	for _, endpoint := range endpoints {
		if presented[endpoint.Member] == nil {
			presented[endpoint.Member] = sets.New[string]()
		}
		presented[endpoint.Member].Insert(endpoint.Presents)
	}
	var errs field.ErrorList
	for _, member := range members {
		if presented[member] == nil {
			if len(endpoints) > 0 {
				errs = append(errs, field.Required(path, fmt.Sprintf("the member %s has no endpoint", member)))
			}
			continue
		}
		for _, leaf := range party.Presents {
			if !presented[member].Has(leaf) {
				errs = append(errs, field.Required(path, fmt.Sprintf("no endpoint of %s presents the leaf %s: add the endpoint where it is "+
					"presented, with presents: %s, or have another party with another kind of evidence present it",
					cmp.Or(member, "a node"), leaf, leaf)))
			}
		}
	}
	return errs
}

// validateProof refuses what a probe cannot observe: a server shows only which client certificates it accepts.
func validateProof(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	switch proof := party.Evidence.TLSProbe.Proof; proof {
	case ProofHandshake:
		if !domain.verifiesClients(party) {
			return field.ErrorList{field.Invalid(path, proof, "needs a leaf with the usage ClientAuth that the party verifies: the "+
				"probe presents one like it")}
		}
	case ProofAcceptableAuthorities:
	default:
		return field.ErrorList{field.NotSupported(path, proof, []ProbeProof{ProofAcceptableAuthorities, ProofHandshake})}
	}
	return nil
}

// validateAddress accepts the placeholder only as the whole host, because an address replaces it, which may be of
// IPv6.
func validateAddress(address string, forEachNode bool, path *field.Path) field.ErrorList {
	if address == "" {
		return field.ErrorList{field.Required(path, "host:port")}
	}
	if host, _, err := net.SplitHostPort(address); err == nil && ofService(host) {
		return field.ErrorList{field.Invalid(path, address, "is the name of a Service"+speaksForOthers)}
	}
	if forEachNode && strings.Contains(address, NodePlaceholder) && !strings.HasPrefix(address, NodePlaceholder+":") {
		return field.ErrorList{field.Invalid(path, address, fmt.Sprintf("must be %s:port", NodePlaceholder))}
	}
	return validateNodeName(address, forEachNode, path, validateHostPort)
}

func validateClientLeaf(name string, domain *declaredDomain, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	leaf := domain.leaves[name]
	switch {
	case leaf == nil:
		return field.ErrorList{field.NotFound(path, name)}
	case leaf.ForEachNode != nil:
		return field.ErrorList{field.Invalid(path, name, "all members are probed with the same leaf, and this one exists once for each node")}
	case !slices.Contains(leaf.Usages, ClientAuth):
		return field.ErrorList{field.Invalid(path, name, "the leaf must have the usage ClientAuth")}
	}
	return nil
}
