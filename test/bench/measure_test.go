// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompareInterleaves(t *testing.T) {
	var order []string
	op := func(name string) operation {
		return operation{name: name, batch: 2, run: func(context.Context) (time.Duration, error) {
			order = append(order, name)
			return 3 * time.Millisecond, nil
		}}
	}
	b := &bench{opts: options{rounds: 2}, report: newReport(io.Discard, nil)}
	got, err := b.compare(t.Context(), "test", 7, []operation{op("a"), op("b")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "b" /* warm */, "a", "a", "b", "b", "b", "b", "a", "a"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{3, 3, 3, 3}, got[0].latencies()); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
	if len(got[0].cpu(client)) != 2 || len(got[0].cpu("nobody")) != 0 {
		t.Errorf("CPU seconds of the client in %d rounds, of nobody in %d; want 2 and 0", len(got[0].cpu(client)), len(got[0].cpu("nobody")))
	}
}

func TestPerThousand(t *testing.T) {
	m := &measurement{Name: "get", Rounds: []round{
		{Milliseconds: []float64{1, 2}, CPU: map[string]float64{"serve": 0.02}, Wire: 4096},
		{Milliseconds: []float64{3, 4}, CPU: map[string]float64{"serve": 0.04}, Wire: 4096},
	}}
	if diff := cmp.Diff([]float64{10, 20}, m.cpu("serve")); diff != "" {
		t.Errorf("CPU seconds (-want +got):\n%s", diff)
	}
	if got := m.wire(); got != 2 {
		t.Errorf("%v KiB, want 2", got)
	}
	if diff := cmp.Diff([]string{"get", "4", "2.50 (1.50)", "3.97", "15.0 (5.00)"}, m.row("serve")); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}
