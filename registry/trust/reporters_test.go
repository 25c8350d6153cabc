// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "testing"

func TestReportersAdmit(t *testing.T) {
	account := func(name string, groups ...string) Account { return Account{Name: name, Groups: groups} }
	tests := []struct {
		name      string
		reporters Reporters
		member    string
		account   Account
		want      bool
	}{
		{"a user", Reporters{Users: []string{"alice"}}, "a", account("alice"), true},
		{"another user", Reporters{Users: []string{"alice"}}, "a", account("bob"), false},
		{"a user whose name begins alike", Reporters{Users: []string{"alice"}}, "a", account("alice2"), false},
		{"the account of the member", Reporters{Users: []string{"system:node:{member}"}}, "n1", account("system:node:n1"), true},
		{"the account of another member", Reporters{Users: []string{"system:node:{member}"}}, "n1", account("system:node:n2"), false},
		{"who is called like the template", Reporters{Users: []string{"system:node:{member}"}}, "n1", account("system:node:{member}"), false},
		{"a member that is called like the placeholder", Reporters{Users: []string{"x-{member}"}}, "{member}", account("x-x-{member}"), false},
		{"a service account", Reporters{ServiceAccounts: []string{"client"}}, "a", account("system:serviceaccount:ns:client"), true},
		{"one of another namespace", Reporters{ServiceAccounts: []string{"client"}}, "a", account("system:serviceaccount:other:client"), false},
		{"a user that is called like one", Reporters{ServiceAccounts: []string{"client"}}, "a", account("client"), false},
		{"that of the member", Reporters{ServiceAccounts: []string{"client-{member}"}}, "a", account("system:serviceaccount:ns:client-a"), true},
		{"that of another member", Reporters{ServiceAccounts: []string{"client-{member}"}}, "a", account("system:serviceaccount:ns:client-b"), false},
		{"a group", Reporters{Groups: []string{"operators"}}, "a", account("bob", "others", "operators"), true},
		{"no group of theirs", Reporters{Groups: []string{"operators"}}, "a", account("bob", "others"), false},
		{"a group is not a template", Reporters{Groups: []string{"{member}"}}, "a", account("bob", "a"), false},
		{"a user is not a group", Reporters{Groups: []string{"bob"}}, "a", account("bob"), false},
		{"nobody", Reporters{Users: []string{"{member}"}, Groups: []string{""}}, "", account("", ""), false},
		{"nobody is named", Reporters{}, "a", account("bob", "system:masters"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.reporters.Admit("ns", tt.member, tt.account); got != tt.want {
				t.Errorf("admitted: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestReportersOf(t *testing.T) {
	d := &Domain{
		Parties: []Party{{Name: "named", Reporters: &Reporters{Users: []string{"alice"}}}, {Name: "unnamed"}},
		Roster:  &Roster{Members: []RosterMember{{Party: "gone", Member: "gone", Kind: Acknowledgement}}},
	}
	for party, want := range map[string]bool{"named": true, "unnamed": false, "gone": false, "unknown": false} {
		if got := ReportersOf(d, party) != nil; got != want {
			t.Errorf("%s has reporters: %t, want %t", party, got, want)
		}
	}
}
