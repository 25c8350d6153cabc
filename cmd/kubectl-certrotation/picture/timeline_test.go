// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestTicks(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name     string
		from, to time.Duration
		want     []string
	}{
		{name: "minutes", from: -10 * time.Minute, to: 20 * time.Minute, want: []string{"11:50", "12:00", "12:10", "12:20"}},
		{name: "hours", from: -time.Hour, to: 11 * time.Hour, want: []string{"1 Mar 12:00", "1 Mar 18:00"}},
		{name: "days", from: -day, to: 2 * day, want: []string{"1 Mar", "2 Mar", "3 Mar"}},
		{name: "months", from: -10 * day, to: 90 * day, want: []string{"Mar 2026", "Apr 2026", "May 2026", "Jun 2026"}},
		{name: "years", from: -365 * day, to: 3 * 365 * day, want: []string{"2026", "2027", "2028", "2029"}},
		{name: "a century", from: -365 * day, to: 100 * 365 * day, want: []string{"2050", "2100"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := Timeline{Now: now, Bars: []Bar{{From: now.Add(tt.from), To: now.Add(tt.to)}}}
			var got []string
			for _, tick := range line.ticks() {
				if tick.At <= 0 || tick.At >= 100 {
					t.Errorf("%s is at %s", tick.Text, tick.At)
				}
				got = append(got, tick.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrips(t *testing.T) {
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	line := Timeline{Now: now, Bars: []Bar{
		{Name: "valid", From: at(-48), To: at(48), Renewal: at(24)},
		{Name: "expired", From: at(-48), To: at(-24)},
		{Name: "not valid yet", From: at(24), To: at(48), Renewal: at(500)},
		{Name: "missing"},
	}}
	var got []string
	for _, s := range line.strips() {
		got = append(got, fmt.Sprintf("%s: %t %.0f +%.0f, %.0f +%.0f, due %.0f", s.Name, s.Drawn, s.Begin, s.Passed, s.LeftFrom, s.Left, s.Due))
	}
	want := []string{
		"valid: true 2 +48, 50 +48, due 74",
		"expired: true 2 +24, 26 +0, due -1",
		"not valid yet: true 74 +0, 74 +24, due 100",
		"missing: false 0 +0, 0 +0, due -1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("strips (-want +got):\n%s", diff)
	}
}
