// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// measured returns a build with two rounds. The second takes twice as long and twice the CPU time.
func measured(name string, unit time.Duration) *build {
	b := &bench{opts: options{leaves: 50}}
	out := b.newBuild(name, nil)
	for i := 1; i <= 2; i++ {
		took := time.Duration(i) * unit
		r := round{Milliseconds: []float64{milliseconds(took)}, CPU: map[string]float64{
			"serve": took.Seconds(), "controller": 2 * took.Seconds(), "kube-apiserver": 3 * took.Seconds(),
		}}
		for _, writers := range reviewWriters {
			out.reviews[writers].add(r, took)
		}
		out.issuance.add(r, took)
		out.requests = append(out.requests, 2)
	}
	return out
}

func TestBordersTables(t *testing.T) {
	builds := []*build{measured("former", time.Second), measured("present", 2*time.Second)}
	for _, tc := range []struct {
		name  string
		table *table
		want  [][]string
	}{
		{
			name: "reviews", table: reviewTable(builds, "note"),
			// Only one operation per round has samples. The rate counts all 400.
			want: [][]string{
				{"former, 1", "2", "1500 (500)", "1990", "1500 (500)", "4500 (1500)", "300 (100)"},
				{"present, 1", "2", "3000 (1000)", "3980", "3000 (1000)", "9000 (3000)", "150 (50.0)"},
				{"former, 16", "2", "1500 (500)", "1990", "1500 (500)", "4500 (1500)", "300 (100)"},
				{"present, 16", "2", "3000 (1000)", "3980", "3000 (1000)", "9000 (3000)", "150 (50.0)"},
			},
		},
		{
			name: "issuance", table: issuanceTable(builds, "note", 50),
			want: [][]string{
				{"former", "2", "37.5 (12.5)", "2.00", "3.00 (1.00)", "1.50 (0.50)", "4.50 (1.50)"},
				{"present", "2", "18.8 (6.25)", "2.00", "6.00 (2.00)", "3.00 (1.00)", "9.00 (3.00)"},
			},
		},
		{
			name: "the present alone", table: issuanceTable(builds[1:], "note", 50),
			want: [][]string{{"present", "2", "18.8 (6.25)", "2.00", "6.00 (2.00)", "3.00 (1.00)", "9.00 (3.00)"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.table.Rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			for _, row := range tc.table.Rows {
				if len(row) != len(tc.table.Columns) {
					t.Errorf("%d cells below %d heads", len(row), len(tc.table.Columns))
				}
			}
			if !slices.Contains(tc.table.Notes, "note") {
				t.Error("what is compared is not said")
			}
		})
	}
}

func TestBordersForBenchstat(t *testing.T) {
	got := parseBenchmarks(measured("former", time.Second).benchmarks())
	want := []*goBenchmark{
		{name: "Review/build=former/writers=1", micros: []float64{1e6, 2e6}},
		{name: "Review/build=former/writers=16", micros: []float64{1e6, 2e6}},
		{name: "Issuance/build=former", micros: []float64{20_000, 40_000}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(goBenchmark{})); diff != "" {
		t.Errorf("benchmarks (-want +got):\n%s", diff)
	}
}

// TestReviewBatch: every writer makes the same number of reviews.
func TestReviewBatch(t *testing.T) {
	for _, writers := range reviewWriters {
		if reviewBatch%writers != 0 {
			t.Errorf("%d reviews are not the same number for each of %d writers", reviewBatch, writers)
		}
		if writers > perNamespace-1 {
			t.Errorf("%d writers have no leaf each", writers)
		}
	}
}
