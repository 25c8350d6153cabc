// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, nil)
	r.print(&table{
		Title: "Speed", Notes: []string{"Of sound."},
		Columns: []string{"medium", "m/s"}, Rows: [][]string{{"air", "343"}, {"water", "1480"}},
	})
	want := "\n### Speed\n\nOf sound.\n\n| medium | m/s |\n| --- | ---: |\n| air | 343 |\n| water | 1480 |\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if len(r.Tables) != 1 {
		t.Errorf("the report has %d tables, want 1", len(r.Tables))
	}
}
