// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

func TestSame(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*trust.Observation)
		want bool
	}{
		{name: "nothing", edit: func(*trust.Observation) {}, want: true},
		{name: "the moment", edit: func(o *trust.Observation) { o.ObservedAt = o.ObservedAt.Add(time.Hour) }, want: true},
		{name: "the lease", edit: func(o *trust.Observation) { o.Expires = o.Expires.Add(time.Hour) }, want: true},
		{name: "the order", edit: func(o *trust.Observation) { o.Trusts = []pki.Fingerprint{sum(2), sum(1)} }, want: true},
		{name: "less than the API keeps", edit: func(o *trust.Observation) { o.StartedAt = o.StartedAt.Add(time.Nanosecond) }, want: true},
		{name: "a restart", edit: func(o *trust.Observation) { o.StartedAt = o.StartedAt.Add(time.Hour) }},
		{name: "no start", edit: func(o *trust.Observation) { o.StartedAt = time.Time{} }},
		{name: "another process", edit: func(o *trust.Observation) { o.Instance = "other" }},
		{name: "another kind", edit: func(o *trust.Observation) { o.Kind = trust.Acknowledgement }},
		{name: "another address", edit: func(o *trust.Observation) { o.Address = "other:1" }},
		{name: "another reporter", edit: func(o *trust.Observation) { o.ReportedBy = "eve" }},
		{name: "another account of that name", edit: func(o *trust.Observation) { o.ReportedByUID = "uid-2" }},
		{name: "an anchor more", edit: func(o *trust.Observation) { o.Trusts = append(o.Trusts, sum(9)) }},
		{name: "a subject less", edit: func(o *trust.Observation) { o.TrustedSubjects = nil }},
		{name: "it was recovered", edit: func(o *trust.Observation) { o.RecoveredUntil = o.RecoveredUntil.Add(time.Hour) }},
		{name: "another leaf", edit: func(o *trust.Observation) { o.Presents = []pki.Fingerprint{sum(5)} }},
		{name: "no failure", edit: func(o *trust.Observation) { o.Failure = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, edited := sampleObservation(), sampleObservation()
			tt.edit(&edited)
			if got := record.Same(&before, &edited); got != tt.want {
				t.Errorf("Same() = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestSameRefusal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(*trust.RefusedWrite)
		want bool
	}{
		"the beginning":  {edit: func(r *trust.RefusedWrite) { r.Since = r.Since.Add(time.Hour) }, want: true},
		"the object":     {edit: func(r *trust.RefusedWrite) { r.Object = "Secret/x" }},
		"the verb":       {edit: func(r *trust.RefusedWrite) { r.Verb = "create" }},
		"another answer": {edit: func(r *trust.RefusedWrite) { r.Answer = "quota" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := sampleRefusal()
			tt.edit(edited)
			if got := record.SameRefusal(sampleRefusal(), edited); got != tt.want {
				t.Errorf("SameRefusal() = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestRenewalDue(t *testing.T) {
	t.Parallel()
	o := trust.Observation{ObservedAt: noon, Expires: noon.Add(5 * time.Minute)}
	for name, tt := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"just observed":          {after: 0},
		"before half of it":      {after: 2*time.Minute + 29*time.Second},
		"half of it":             {after: 2*time.Minute + 30*time.Second, want: true},
		"after the end":          {after: time.Hour, want: true},
		"a clock that went back": {after: -time.Minute},
		"a clock that was ahead": {after: -time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := record.RenewalDue(&o, noon.Add(tt.after)); got != tt.want {
				t.Errorf("RenewalDue() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestTheLongestLeaseIsNoFuture: the longest lease that a correct clock can write does not count as ahead.
func TestTheLongestLeaseIsNoFuture(t *testing.T) {
	t.Parallel()
	o := trust.Observation{ObservedAt: noon, Expires: noon.Add(configv1alpha1.MaxLease)}
	if o.ObservedAhead(noon) {
		t.Error("a report with the longest lease counts as one of a clock that was ahead")
	}
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	at := func(instance string, expires time.Duration) trust.Observation {
		return trust.Observation{Instance: instance, Expires: noon.Add(expires)}
	}
	before := []trust.Observation{at("a", time.Minute), at("b", 0), at("c", time.Minute)}
	for name, tt := range map[string]struct {
		o    trust.Observation
		want []trust.Observation
	}{
		"one more":              {at("b2", time.Hour), []trust.Observation{at("a", time.Minute), at("b2", time.Hour), at("c", time.Minute)}},
		"one in place of one":   {at("a", time.Hour), []trust.Observation{at("a", time.Hour), at("c", time.Minute)}},
		"one that has expired":  {at("b", time.Hour), []trust.Observation{at("a", time.Minute), at("b", time.Hour), at("c", time.Minute)}},
		"the one is kept as is": {at("c", -time.Hour), []trust.Observation{at("a", time.Minute), at("c", -time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, record.Replaced(before, &tt.o, noon)); diff != "" {
				t.Errorf("Replaced() (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]trust.Observation{at("a", time.Minute), at("c", time.Minute)}, record.Live(before, noon)); diff != "" {
		t.Errorf("Live() (-want +got):\n%s", diff)
	}
}

// TestTheOnlyProcessIsHeard: the only known process of a member need not renew its lease. A second process does
// not displace it.
func TestTheOnlyProcessIsHeard(t *testing.T) {
	t.Parallel()
	at := func(instance string, kind trust.EvidenceKind, expires time.Duration) trust.Observation {
		return trust.Observation{Instance: instance, Kind: kind, Expires: noon.Add(expires)}
	}
	second := at("b", trust.Acknowledgement, time.Hour)
	for name, tt := range map[string]struct{ only, want []trust.Observation }{
		"it has lapsed": {
			only: []trust.Observation{at("a", trust.Acknowledgement, -time.Hour)},
			want: []trust.Observation{at("a", trust.Acknowledgement, time.Hour), second},
		},
		"it is about to lapse": {
			only: []trust.Observation{at("a", trust.Acknowledgement, time.Minute)},
			want: []trust.Observation{at("a", trust.Acknowledgement, time.Hour), second},
		},
		"it has the longer lease": {
			only: []trust.Observation{at("a", trust.Acknowledgement, 2*time.Hour)},
			want: []trust.Observation{at("a", trust.Acknowledgement, 2*time.Hour), second},
		},
		"a clock that was ahead has prolonged it": {
			only: []trust.Observation{at("a", trust.Acknowledgement, 20*365*24*time.Hour)},
			want: []trust.Observation{{
				Instance: "a", Kind: trust.Acknowledgement, ObservedAt: noon, Expires: noon.Add(time.Hour),
				Failure: "it was observed last by a clock that was ahead",
			}, second},
		},
		"it was seen by other means": {
			only: []trust.Observation{at("a", trust.TLSProbe, -time.Hour)},
			want: []trust.Observation{second},
		},
		"it was started again": {
			only: []trust.Observation{at("b", trust.Acknowledgement, -time.Hour)},
			want: []trust.Observation{second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tt.only)
			if diff := cmp.Diff(tt.want, record.Replaced(tt.only, &second, noon)); diff != "" {
				t.Errorf("Replaced() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.only); diff != "" {
				t.Errorf("the argument has changed (-want +got):\n%s", diff)
			}
		})
	}
}
