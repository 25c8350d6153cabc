// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ProbeProof is what a probe takes as proof that a server trusts a CA.
// +kubebuilder:validation:Enum=AcceptableAuthorities;Handshake
type ProbeProof string

// Proofs of a probe.
const (
	// ProofAcceptableAuthorities means that the server lists the CA among the acceptable authorities of client
	// certificates.
	ProofAcceptableAuthorities ProbeProof = "AcceptableAuthorities"
	// ProofHandshake means that the server completes a handshake with a short-lived leaf of the CA.
	ProofHandshake ProbeProof = "Handshake"
)

// TLSProbe is a TLS handshake with a running server.
type TLSProbe struct {
	// endpoints at which the members are probed, at least one for each member. With forEachNode they apply to every
	// node. Every address that the host of an endpoint resolves to is probed. Do not name a Service: it leads each
	// connection to another pod, so one pod would prove for all. Use pods instead, which takes no endpoints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	Endpoints []ProbeEndpoint `json:"endpoints,omitempty"`
	// serverName is sent to the server, and the presented leaf must be valid for it. An endpoint may override it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of a leaf to complete the handshake with, for servers that require a client
	// certificate. An endpoint may override it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientLeaf string `json:"clientLeaf,omitempty"`
	// proof that the server trusts a CA: AcceptableAuthorities, or Handshake for servers whose list of acceptable
	// authorities is missing or wrong. Defaults to AcceptableAuthorities.
	// +optional
	Proof ProbeProof `json:"proof,omitempty"`
	// interval between probes while a rotation is in flight. Defaults to 5s. Nothing is probed in the stage Stable.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be a duration between 1s and 1h"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one probe. Defaults to 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1m')",message="must be a duration between 100ms and 1m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ProbeEndpoint is an address at which a member serves, and the leaf that it presents there.
type ProbeEndpoint struct {
	// member that serves there. Empty with forEachNode. Optional if the party has a single member.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member,omitempty"`
	// address as host:port. With forEachNode the host is {node}, which becomes the node's first InternalIP.
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^.+:[0-9]+$`
	Address string `json:"address"`
	// presents is the leaf that is presented there, by secretName as written in leaves. It must be in presents of the
	// party. Defaults to the only leaf that the party presents.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Presents string `json:"presents,omitempty"`
	// serverName is sent to the server, and the presented leaf must be valid for it. Defaults to the serverName of
	// the probe, and then to the host.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of a leaf to complete the handshake with. Defaults to the clientLeaf of the probe.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientLeaf string `json:"clientLeaf,omitempty"`
}

// tlsProbeEvidence: what servers accept and present in handshakes.
func tlsProbeEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceTLSProbe, probed: true,
		validate: validateProbe,
		validateLeaf: func(leaf *Leaf, path *field.Path) field.ErrorList {
			if len(leaf.Usages) == 0 || slices.Contains(leaf.Usages, ServerAuth) {
				return nil
			}
			return field.ErrorList{field.Invalid(path, leaf.SecretName, "a tlsProbe never sees this leaf, which has no usage ServerAuth: "+
				"have another party present it, with evidence of another kind such as acknowledgement")}
		},
		unseen: func(party string, leaf *Leaf) string {
			if slices.Contains(leaf.Usages, ClientAuth) {
				return ""
			}
			return fmt.Sprintf("a tlsProbe of %s sees only whose client certificates it accepts, and this one has no usage ClientAuth", party)
		},
		setDefaults: setProbeDefaults,
	}
}

func setProbeDefaults(party *RelyingParty) {
	probe := party.Evidence.TLSProbe
	probe.Proof = cmp.Or(probe.Proof, ProofAcceptableAuthorities)
	setDefault(&probe.Interval, DefaultProbeInterval)
	setDefault(&probe.Timeout, DefaultProbeTimeout)
	for i := range probe.Endpoints {
		endpoint := &probe.Endpoints[i]
		endpoint.Member = cmp.Or(endpoint.Member, loneMember(party))
		endpoint.ServerName = cmp.Or(endpoint.ServerName, probe.ServerName)
		endpoint.ClientLeaf = cmp.Or(endpoint.ClientLeaf, probe.ClientLeaf)
		if len(party.Presents) == 1 {
			endpoint.Presents = cmp.Or(endpoint.Presents, party.Presents[0])
		}
	}
}

func validateProbe(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList {
	path := at.Child("tlsProbe")
	probe, endpoints := party.Evidence.TLSProbe, path.Child("endpoints")
	var errs field.ErrorList
	if domain.verifiesAnything(party) && !domain.verifiesClients(party) {
		errs = append(errs, field.Invalid(at.Child("kind"), party.Evidence.Kind, "a probe sees only whose client certificates a server accepts, and "+
			"the party verifies no leaf with the usage ClientAuth: a server that asks for none says verifies: {nothing: true}, and what it "+
			"verifies as a client is another party with evidence of another kind such as acknowledgement"))
	}
	seen := sets.New[ProbeEndpoint]()
	for i, endpoint := range probe.Endpoints {
		item := endpoints.Index(i)
		key := ProbeEndpoint{Member: endpoint.Member, Address: endpoint.Address, ServerName: endpoint.ServerName}
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(item, endpoint.Address))
			continue
		}
		seen.Insert(key)
		errs = append(errs, validateProbeEndpoint(party, &endpoint, domain, item)...)
	}
	if party.Pods == nil {
		errs = append(errs, validateEndpointsOfMembers(party, endpoints)...)
	}
	errs = append(errs, validateServerName(probe.ServerName, path.Child("serverName"))...)
	errs = append(errs, validateClientLeaf(probe.ClientLeaf, domain, path.Child("clientLeaf"))...)
	switch {
	case probe.Proof != ProofHandshake:
	case domain.editions:
		errs = append(errs, field.Invalid(path.Child("proof"), probe.Proof, "certrotation does not sign with an authority of editions: leave it out"))
	case !domain.verifiesClients(party):
		errs = append(errs, field.Invalid(path.Child("proof"), probe.Proof, "needs a leaf with the usage ClientAuth that the party verifies: the "+
			"probe presents one like it"))
	}
	return errs
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
			errs = append(errs, field.Required(path, fmt.Sprintf("the member %s has no endpoint", member)))
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

// validateAddress accepts the placeholder only as the whole host, because an address replaces it, which may be of
// IPv6.
func validateAddress(address string, forEachNode bool, path *field.Path) field.ErrorList {
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
	case domain.editions:
		return field.ErrorList{field.Invalid(path, name, "no Secret of editions has this name: leave it out")}
	case leaf == nil:
		return field.ErrorList{field.NotFound(path, name)}
	case leaf.ForEachNode != nil:
		return field.ErrorList{field.Invalid(path, name, "all members are probed with the same leaf, and this one exists once for each node")}
	case !slices.Contains(leaf.Usages, ClientAuth):
		return field.ErrorList{field.Invalid(path, name, "the leaf must have the usage ClientAuth")}
	}
	return nil
}
