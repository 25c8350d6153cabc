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
		{"of the process before it", "client-a", "client-a", report(func(o *Observation) { o.StartedAt = now }), report(nil), ContentDecides},
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

// TestRosteredMemberMayReport: who counts only because of the roster can still show that it has followed.
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
