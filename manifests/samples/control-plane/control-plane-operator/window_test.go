// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"
	"time"
)

// TestWindow: the end does not belong to a window, the zone of the clock does not matter, and without one there is none.
func TestWindow(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	at := func(hour, minute int, zone *time.Location) time.Time {
		return time.Date(2026, 3, 1, hour, minute, 59, 0, zone)
	}
	for _, tt := range []struct {
		name, window string
		at           time.Time
		want         bool
	}{
		{"none", "", at(0, 0, time.UTC), false},
		{"before", "02:00-04:00", at(1, 59, time.UTC), false},
		{"its first minute", "02:00-04:00", at(2, 0, time.UTC), true},
		{"its last minute", "02:00-04:00", at(3, 59, time.UTC), true},
		{"its end", "02:00-04:00", at(4, 0, time.UTC), false},
		{"another zone, inside", "02:00-04:00", at(4, 30, east), true},
		{"another zone, outside", "02:00-04:00", at(2, 30, east), false},
		{"until midnight", "22:00-00:00", at(23, 59, time.UTC), true},
		{"after midnight", "22:00-00:00", at(0, 0, time.UTC), false},
		{"across midnight, before it", "22:30-01:15", at(22, 30, time.UTC), true},
		{"across midnight, after it", "22:30-01:15", at(1, 14, time.UTC), true},
		{"across midnight, its end", "22:30-01:15", at(1, 15, time.UTC), false},
		{"across midnight, at noon", "22:30-01:15", at(12, 0, time.UTC), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := parseWindow(tt.window)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.contains(tt.at); got != tt.want {
				t.Errorf("%q contains %s: %t", tt.window, tt.at, got)
			}
		})
	}
}

func TestNoWindow(t *testing.T) {
	for _, text := range []string{"-", "02:00", "02:00-", "-02:00", "02:00-24:00", "02:60-03:00", "02:00-03:00-04:00", "2-3", "02:00-02:00", " 02:00-03:00"} {
		if w, err := parseWindow(text); !errors.Is(err, errWindow) {
			t.Errorf("%q: %+v, %v", text, w, err)
		}
	}
}
