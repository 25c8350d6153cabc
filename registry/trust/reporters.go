// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

// Reporters are the accounts that may acknowledge for the members of a party, as configured: a name may hold {member}.
type Reporters struct {
	Users, Groups, ServiceAccounts []string
}

// within says whether nobody may report by r who may not by other. Without any the API server's RBAC decides, which is neither
// more nor less than a list.
func (r *Reporters) within(other *Reporters) bool {
	if r == nil || other == nil {
		return r == other
	}
	return contains(other.Users, r.Users) && contains(other.Groups, r.Groups) && contains(other.ServiceAccounts, r.ServiceAccounts)
}
