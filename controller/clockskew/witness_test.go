// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

type answer struct {
	date string
	err  error
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{Header: http.Header{"Date": []string{a.date}}}, nil
}

// holds reports whether the model refuses to act because of a skew.
func holds(skew time.Duration, now time.Time) bool {
	a := trust.Assess(&trust.Domain{
		Namespace: "demo", Name: "web", Signer: trust.Signer{Object: trust.Object{Name: "signer"}}, ClockSkew: skew,
	}, now)
	return slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonClockSkewed })
}

func TestMeter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	unreachable := errors.New("unreachable")
	for _, tc := range []struct {
		name    string
		answers []answer
		want    time.Duration
		holds   bool
	}{
		{"no answer yet", nil, 0, false},
		{"clocks agree", []answer{{date: at(0)}}, 0, false},
		{"years ahead", []answer{{date: at(-2 * 365 * 24 * time.Hour)}}, 2 * 365 * 24 * time.Hour, true},
		{"an hour behind", []answer{{date: at(time.Hour)}}, -time.Hour, true},
		{"half a minute is let be", []answer{{date: at(-30 * time.Second)}}, 30 * time.Second, false},
		{"an answer without a date changes nothing", []answer{{date: at(time.Hour)}, {date: "yesterday"}}, -time.Hour, true},
		{"no answer changes nothing", []answer{{date: at(time.Hour)}, {err: unreachable}}, -time.Hour, true},
		{"about the same is the same", []answer{{date: at(time.Hour)}, {date: at(time.Hour + 2*time.Second)}}, -time.Hour, true},
		{"the latest answer counts", []answer{{date: at(time.Hour)}, {date: at(0)}}, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := NewMeter(testclock.NewFakePassiveClock(now))
			for _, a := range tc.answers {
				if response, err := m.Wrap(a).RoundTrip(&http.Request{}); !errors.Is(err, a.err) || (response == nil) != (err != nil) {
					t.Fatalf("response %v, error %v", response, err)
				}
			}
			if m.Skew() != tc.want {
				t.Errorf("skew %s, want %s", m.Skew(), tc.want)
			}
			if got := holds(m.Skew(), now); got != tc.holds {
				t.Errorf("the model holds: %t, want %t", got, tc.holds)
			}
		})
	}
}

// renewedAt returns Leases of kubelets with these renew times. The zero time means never renewed.
func renewedAt(times ...time.Time) []runtime.Object {
	var out []runtime.Object
	for i, at := range times {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: fmt.Sprintf("node-%d", i)}}
		if !at.IsZero() {
			lease.Spec.RenewTime = &metav1.MicroTime{Time: at}
		}
		out = append(out, lease)
	}
	return out
}

func TestWitness(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		// leases are the ages of the kubelets' Leases. server is how far the API server's clock is behind.
		leases []time.Duration
		server time.Duration
		want   time.Duration
		holds  bool
	}{
		{name: "no nodes are no witness"},
		{name: "no nodes, and the API server differs", server: time.Hour, want: time.Hour, holds: true},
		{name: "just renewed", leases: []time.Duration{4 * time.Second}},
		{name: "one node of three is up", leases: []time.Duration{40 * time.Hour, 9 * time.Second, 30 * time.Minute}},
		{name: "the clock of one node is ahead", leases: []time.Duration{-time.Hour, 9 * time.Second}},
		{name: "just within", leases: []time.Duration{MaxLeaseSkew}},
		{
			name: "API server and controller have jumped ahead together", leases: []time.Duration{time.Hour, time.Hour + 5*time.Second},
			want: time.Hour, holds: true,
		},
		{
			name: "API server and controller have jumped back together", leases: []time.Duration{-time.Hour, -time.Hour + 5*time.Second},
			want: -time.Hour + 5*time.Second, holds: true,
		},
		{
			name: "the larger skew counts", leases: []time.Duration{20 * time.Minute}, server: -time.Hour, want: -time.Hour, holds: true,
		},
		{
			name: "the larger skew counts, whichever it is", leases: []time.Duration{-time.Hour}, server: 20 * time.Minute,
			want: -time.Hour, holds: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var times []time.Time
			for _, ago := range tc.leases {
				times = append(times, now.Add(-ago))
			}
			clock := testclock.NewFakePassiveClock(now)
			meter := NewMeter(clock)
			if _, err := meter.Wrap(answer{date: now.Add(-tc.server).Format(http.TimeFormat)}).RoundTrip(&http.Request{}); err != nil {
				t.Fatal(err)
			}
			w := NewWitness(apifake.New(t, clock, renewedAt(times...)...).Client, clock, meter)
			if w.Latest() != tc.server {
				t.Errorf("before anybody is asked it is %s, want %s", w.Latest(), tc.server)
			}
			got, err := w.Ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("skew %s, want %s", got, tc.want)
			}
			if holds(got, now) != tc.holds {
				t.Errorf("the model holds: %t, want %t", !tc.holds, tc.holds)
			}
			if w.Latest() != tc.want {
				t.Errorf("once somebody has asked it is %s, want %s", w.Latest(), tc.want)
			}
			if clock.SetTime(now.Add(agreedFor)); w.Latest() != tc.server {
				t.Errorf("a while later it is %s, want %s", w.Latest(), tc.server)
			}
		})
	}
}

// TestWitnessIsAskedAsRarelyAsPossible counts the list requests.
func TestWitnessIsAskedAsRarelyAsPossible(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		leases []time.Time
		// next is the time between two questions.
		next  time.Duration
		lists int
	}{
		{"soon after they agreed", []time.Time{start}, time.Second, 1},
		{"soon after there were none", nil, time.Second, 1},
		{"a minute after they agreed", []time.Time{start}, time.Minute, 2},
		{"after a jump ahead", []time.Time{start}, time.Hour, 2},
		{"after a jump back", []time.Time{start}, -time.Hour, 2},
		{"soon after they did not agree", []time.Time{start.Add(time.Hour)}, time.Second, 1},
		{"a while after they did not agree", []time.Time{start.Add(time.Hour)}, 10 * time.Second, 2},
		{"after a jump to where they agree", []time.Time{start.Add(time.Hour)}, time.Hour, 2},
		{"a Lease that was never renewed is none", []time.Time{{}}, time.Second, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(start)
			api := apifake.New(t, clock, renewedAt(tc.leases...)...)
			w := NewWitness(api.Client, clock, NewMeter(clock))
			w.Latest()
			if got := len(api.Actions()); got != 0 {
				t.Fatalf("%d requests for what is known", got)
			}
			for range 2 {
				if _, err := w.Ask(t.Context()); err != nil {
					t.Fatal(err)
				}
				clock.SetTime(start.Add(tc.next))
			}
			if got := len(api.Actions()); got != tc.lists {
				t.Errorf("%d lists, want %d", got, tc.lists)
			}
		})
	}
}

// TestSkewIsSteady: the reported skew must not change with every renewal of a Lease.
func TestSkewIsSteady(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := testclock.NewFakePassiveClock(start)
	w := NewWitness(apifake.New(t, clock, renewedAt(start.Add(-time.Hour))...).Client, clock, NewMeter(clock))
	var got []time.Duration
	for _, at := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute, -55 * time.Minute} {
		clock.SetTime(start.Add(at))
		skew, err := w.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, skew)
	}
	want := []time.Duration{time.Hour, time.Hour, time.Hour, 62 * time.Minute, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWitnessThatCannotBeAsked: a failed list is an error, not the absence of a skew.
func TestWitnessThatCannotBeAsked(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	api := apifake.New(t, clock)
	api.ReadFault = func(*apifake.Request) apifake.Fault { return apifake.Forbidden }
	if _, err := NewWitness(api.Client, clock, NewMeter(clock)).Ask(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("got error %v, want that it is forbidden", err)
	}
}
