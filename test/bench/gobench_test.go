// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBenchmarks(t *testing.T) {
	got := parseBenchmarks(`goos: linux
BenchmarkList/objects=1000/all-2         	   10000	      2000 ns/op	    2048 B/op	       3 allocs/op
BenchmarkReview/leaves=3-2 	 500	 4000 ns/op	 12.5 MB/s	 1024 B/op	 7 allocs/op
BenchmarkList/objects=1000/all-2         	   10000	      4000 ns/op	    2048 B/op	       3 allocs/op
PASS
ok  	certrotation.dev/registry/view	1.2s
`)
	want := []*goBenchmark{
		{name: "List/objects=1000/all", micros: []float64{2, 4}, kib: []float64{2, 2}, allocs: []float64{3, 3}},
		{name: "Review/leaves=3", micros: []float64{4}, kib: []float64{1}, allocs: []float64{7}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(goBenchmark{})); diff != "" {
		t.Errorf("benchmarks (-want +got):\n%s", diff)
	}
}
