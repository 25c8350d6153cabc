// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// table is a table of docs/benchmarks.md.
type table struct {
	Title   string     `json:"title"`
	Notes   []string   `json:"notes,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// markdown writes the table. The first column is text, the others are figures.
func (t *table) markdown(out io.Writer) {
	fmt.Fprintf(out, "\n### %s\n\n", t.Title)
	for _, note := range t.Notes {
		fmt.Fprintf(out, "%s\n", note)
	}
	if len(t.Notes) > 0 {
		fmt.Fprintln(out)
	}
	row := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	row(t.Columns)
	rule := make([]string, len(t.Columns))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	row(rule)
	for _, cells := range t.Rows {
		row(cells)
	}
}

// report is the printed and saved result.
type report struct {
	out io.Writer
	// benchmarks are lines of go test -bench, and lines in its format, for benchstat.
	benchmarks strings.Builder

	Started      time.Time         `json:"started"`
	Arguments    []string          `json:"arguments"`
	Tables       []*table          `json:"tables"`
	Measurements []*measurement    `json:"measurements"`
	Samples      map[string]any    `json:"samples"`
	Machine      map[string]string `json:"machine"`
}

func newReport(out io.Writer, args []string) *report {
	return &report{out: out, Started: time.Now().UTC(), Arguments: args, Samples: map[string]any{}, Machine: map[string]string{}}
}

// print adds a table to the report and prints it at once, so that a later failure does not lose it.
func (r *report) print(t *table) {
	r.Tables = append(r.Tables, t)
	t.markdown(r.out)
}

// save writes the report into one file, and the lines for benchstat into another.
func (b *bench) save() error {
	file := filepath.Join(b.dir, b.report.Started.Format("20060102T150405Z"))
	text, err := json.MarshalIndent(b.report, "", " ")
	if err != nil {
		return fmt.Errorf("encode the samples: %w", err)
	}
	if err := os.WriteFile(file+".json", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the samples: %w", err)
	}
	b.say("every sample is in %s.json", file)
	if b.report.benchmarks.Len() == 0 {
		return nil
	}
	if err := os.WriteFile(file+".txt", []byte(b.report.benchmarks.String()), 0o644); err != nil {
		return fmt.Errorf("write the benchmarks: %w", err)
	}
	b.say("benchstat reads %s.txt", file)
	return nil
}
