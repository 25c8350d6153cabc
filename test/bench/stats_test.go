// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		samples []float64
		q, want float64
	}{
		{name: "one sample is every quantile", samples: []float64{7}, q: 0.99, want: 7},
		{name: "median of an odd number", samples: []float64{9, 1, 5}, q: 0.5, want: 5},
		{name: "median of an even number lies between", samples: []float64{4, 1, 2, 3}, q: 0.5, want: 2.5},
		{name: "the largest", samples: []float64{4, 1, 2, 3}, q: 1, want: 4},
		{name: "the smallest", samples: []float64{4, 1, 2, 3}, q: 0, want: 1},
		{name: "a quarter of the way", samples: []float64{0, 10}, q: 0.25, want: 2.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given := append([]float64(nil), tc.samples...)
			if got := quantile(tc.samples, tc.q); got != tc.want {
				t.Errorf("quantile(%v, %v) = %v, want %v", tc.samples, tc.q, got, tc.want)
			}
			if diff := cmp.Diff(given, tc.samples); diff != "" {
				t.Errorf("the samples were changed (-want +got):\n%s", diff)
			}
		})
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing = %v, want NaN", got)
	}
}

func TestNumber(t *testing.T) {
	for want, x := range map[string]float64{
		"-": math.NaN(), "0.00": 4e-14, "0.0012": 0.00123, "0.12": 0.123, "1.23": 1.234, "12.3": 12.34, "123": 123.4, "12346": 12345.6, "-1.50": -1.5,
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestWithSpread(t *testing.T) {
	if got, want := withSpread([]float64{1, 2, 3}), "2.00 (1.00)"; got != want {
		t.Errorf("withSpread = %q, want %q", got, want)
	}
	if got, want := withSpread([]float64{2}), "2.00"; got != want {
		t.Errorf("withSpread = %q, want %q", got, want)
	}
}
