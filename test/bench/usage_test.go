// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       float64
		fails      bool
	}{
		{name: "plain", text: "42 (serve) S 1 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 1", want: 2},
		{name: "a name with spaces and parentheses", text: "42 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 1 2 0 0", want: 0.03},
		{name: "cut off", text: "42 (serve) S 1 42", fails: true},
		{name: "empty", text: "", fails: true},
		{name: "no number", text: "42 (serve) S 1 42 42 0 -1 4194560 1 0 0 0 x 50 0", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseStat(tc.text)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v, want one: %t", err, tc.fails)
			}
			if got != tc.want {
				t.Errorf("got %v s, want %v s", got, tc.want)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus("Name:\tserve\nVmPeak:\t  999999 kB\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(memory{Now: 2, Peak: 4}, got); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	if _, err := parseStatus("VmRSS:\tlots\n"); err == nil {
		t.Error("no error for a size that is no number")
	}
}
