// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"
)

func TestCheckAcknowledgement(t *testing.T) {
	now := start.Add(time.Hour)
	report := func(change func(o *Observation)) *Observation {
		o := &Observation{Instance: "a", Kind: Acknowledgement, StartedAt: start, ObservedAt: now}
		if change != nil {
			change(o)
		}
		return o
	}
	tests := []struct {
		name, party, member string
		before              *Observation
		report              *Observation
		want                Invariant
	}{
		{"first report", "client-a", "client-a", nil, report(nil), ""},
		{"again", "client-a", "client-a", report(nil), report(nil), ""},
		{"of the process that came after it", "client-a", "client-a", report(nil), report(func(o *Observation) { o.StartedAt = now }), ""},
		{"of the process before it", "client-a", "client-a", report(func(o *Observation) { o.StartedAt, o.Expires = now, now.Add(time.Hour) }), report(nil), ContentDecides},
		{"of the process before one of which nothing is known any more", "client-a", "client-a", report(func(o *Observation) { o.StartedAt, o.Expires = now, now }), report(nil), ""},
		{"of an older replica", "client-a", "client-a", report(func(o *Observation) { o.StartedAt = now }),
			report(func(o *Observation) { o.Instance = "b" }), ""},
		{"that does not say when its process started", "client-a", "client-a", nil, report(func(o *Observation) { o.StartedAt = time.Time{} }), ContentDecides},
		{"of a process of the future", "client-a", "client-a", nil, report(func(o *Observation) { o.StartedAt = now.Add(time.Hour) }), ContentDecides},
		{"of the future", "client-a", "client-a", nil, report(func(o *Observation) { o.ObservedAt = now.Add(time.Hour) }), ContentDecides},
		{"that is sent again", "client-a", "client-a", report(nil), report(func(o *Observation) { o.ObservedAt = start }), ContentDecides},
		{"that does not say when it was observed", "client-a", "client-a", nil, report(func(o *Observation) { o.ObservedAt = time.Time{} }), ContentDecides},
		{"of a party that is probed", "server", "server", nil, report(nil), TrustBeforeUse},
		{"of a stranger", "client-a", "stranger", nil, report(nil), TrustBeforeUse},
		{"of no party", "stranger", "stranger", nil, report(nil), TrustBeforeUse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.before != nil {
				w.member("client-a").Observations = []Observation{*tt.before}
			}
			err := CheckAcknowledgement(&w.d, tt.party, tt.member, tt.report, now)
			if tt.want != "" {
				refused(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRosteredMemberMayReport: a member that only the roster counts may still acknowledge during a rotation.
func TestRosteredMemberMayReport(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	report := &Observation{Instance: "a", StartedAt: start, ObservedAt: f.now}
	f.remove("client-0")
	if err := CheckAcknowledgement(&f.d, "client-0", "client-0", report, f.now); err == nil {
		t.Error("with no rotation in flight, who is not configured may report")
	}
	f = newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	f.request("test")
	f.settle()
	f.remove("client-0")
	if err := CheckAcknowledgement(&f.d, "client-0", "client-0", report, f.now); err != nil {
		t.Error(err)
	}
}

func TestCheckWaiver(t *testing.T) {
	tests := []struct {
		name   string
		waiver Waiver
		want   Invariant
	}{
		{"for a day", Waiver{Party: "server", Member: "server", Reason: "it is broken", Expires: start.Add(day)}, ""},
		{"that ends at once, which withdraws it", Waiver{Party: "server", Member: "server", Reason: "it is back", Expires: start}, ""},
		{"without a reason", Waiver{Party: "server", Member: "server", Expires: start.Add(day)}, ContentDecides},
		{"for years", Waiver{Party: "server", Member: "server", Reason: "it is broken", Expires: start.Add(years)}, ContentDecides},
		{"of a stranger", Waiver{Party: "server", Member: "stranger", Reason: "it is broken", Expires: start.Add(day)}, TrustBeforeUse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			err := CheckWaiver(&w.d, &tt.waiver, start)
			if tt.want != "" {
				refused(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReportersAdmit(t *testing.T) {
	account := func(name string, groups ...string) *Account { return &Account{Name: name, Groups: groups} }
	tests := []struct {
		name      string
		reporters Reporters
		member    string
		account   *Account
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
