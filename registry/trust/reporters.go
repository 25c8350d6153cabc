// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
)

// memberPlaceholder stands for the name of the member that is reported for.
const memberPlaceholder = "{member}"

// Reporters are the accounts that may acknowledge for the members of a party.
type Reporters struct {
	// Users and ServiceAccounts by name, with {member} for the name of the member. ServiceAccounts are those of the domain's
	// namespace.
	Users, ServiceAccounts []string
	// Groups may report for every member.
	Groups []string
}

// Account is who the API server says that a report comes from.
type Account struct {
	Name   string
	Groups []string
}

// Admit says whether an account may report for a member of a party in a namespace. Names are compared whole: an account
// whose name only contains, or begins as, that of a reporter is another one.
func (r *Reporters) Admit(namespace, member string, a Account) bool {
	if a.Name == "" {
		return false
	}
	named := func(template string) bool { return a.Name == strings.Replace(template, memberPlaceholder, member, 1) }
	return slices.ContainsFunc(r.Users, named) ||
		slices.ContainsFunc(r.ServiceAccounts, func(name string) bool {
			return named("system:serviceaccount:" + namespace + ":" + name)
		}) ||
		slices.ContainsFunc(r.Groups, func(group string) bool { return group != "" && slices.Contains(a.Groups, group) })
}

// ReportersOf returns who may report for the members of a party, nil if the party names nobody: then a right of the API
// server decides. So it does for a party that counts by the roster alone: who reported for it is not configured any more.
func ReportersOf(d *Domain, party string) *Reporters {
	for i := range d.Parties {
		if d.Parties[i].Name == party {
			return d.Parties[i].Reporters
		}
	}
	return nil
}

// ReportName is the name under which the right to acknowledge for one member is asked for.
func ReportName(signer, party, member string) string { return signer + "/" + party + "/" + member }

// within says whether nobody may report by r who may not by other. Without any the API server's RBAC decides, which is neither
// more nor less than a list.
func (r *Reporters) within(other *Reporters) bool {
	if r == nil || other == nil {
		return r == other
	}
	return contains(other.Users, r.Users) && contains(other.Groups, r.Groups) && contains(other.ServiceAccounts, r.ServiceAccounts)
}
