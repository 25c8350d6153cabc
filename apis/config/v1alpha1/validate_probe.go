// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateProbe expects a probe of a party with evidence of any kind.
func validateProbe(party *RelyingParty, leaves map[string]*Leaf, path *field.Path) field.ErrorList {
	probe, addresses := party.Evidence.TLSProbe, path.Child("addresses")
	var errs field.ErrorList
	switch want := memberCount(party); {
	case len(probe.Addresses) == 0:
		errs = append(errs, field.Required(addresses, "one for each member"))
	case len(probe.Addresses) != want:
		errs = append(errs, field.Invalid(addresses, probe.Addresses, addressesWanted(party, want)))
	}
	errs = append(errs, validateSet(probe.Addresses, addresses, func(address string, path *field.Path) field.ErrorList {
		return validateAddress(address, party.ForEachNode != nil, path)
	})...)
	errs = append(errs, validateServerName(probe.ServerName, path.Child("serverName"))...)
	errs = append(errs, validateClientLeaf(probe.ClientLeaf, leaves, path.Child("clientLeaf"))...)
	errs = append(errs, validatePositive(probe.Interval, path.Child("interval"))...)
	return append(errs, validatePositive(probe.Timeout, path.Child("timeout"))...)
}

// validateAddress allows the placeholder for the whole host only: an address takes its place, which may be one of IPv6.
func validateAddress(address string, forEachNode bool, path *field.Path) field.ErrorList {
	if forEachNode && strings.Contains(address, NodePlaceholder) && !strings.HasPrefix(address, NodePlaceholder+":") {
		return field.ErrorList{field.Invalid(path, address, fmt.Sprintf("must be %s:port", NodePlaceholder))}
	}
	return validateNodeName(address, forEachNode, path, validateHostPort)
}

// memberCount is how many addresses a probe of the party has: with forEachNode one stands for all nodes.
func memberCount(party *RelyingParty) int {
	if party.ForEachNode != nil {
		return 1
	}
	return max(1, len(party.Members))
}

func addressesWanted(party *RelyingParty, want int) string {
	switch {
	case party.ForEachNode != nil:
		return fmt.Sprintf("must be a single entry with %s", NodePlaceholder)
	case len(party.Members) == 0:
		return "the party has a single member: give one address, or name the members"
	default:
		return fmt.Sprintf("must be %d, in the order of members", want)
	}
}

func validateClientLeaf(name string, leaves map[string]*Leaf, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	leaf := leaves[name]
	switch {
	case leaf == nil:
		return field.ErrorList{field.NotFound(path, name)}
	case leaf.ForEachNode != nil:
		return field.ErrorList{field.Invalid(path, name, "all members are probed with one leaf, and this is one for each node")}
	case !slices.Contains(leaf.Usages, ClientAuth):
		return field.ErrorList{field.Invalid(path, name, "the leaf must have the usage ClientAuth")}
	}
	return nil
}
