// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/trust"
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

// holds says whether the model does nothing because of a skew.
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
