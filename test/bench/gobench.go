// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// goBenchmarks runs benchmarks of the packages and prints the median of their repeats.
func (b *bench) goBenchmarks(ctx context.Context) error {
	var errs []error
	for _, g := range []struct{ title, pkg, pattern string }{
		{"The model: trust.Assess", "./registry/trust", "^BenchmarkAssess$"},
		{"View engine: get, list, fan-out of a change to watches, a batch of changes", "./registry/view", "^Benchmark(Get|List|FanOut|Apply)$"},
		{"From the facts of a namespace to the model", "./registry/view/inventory", "^BenchmarkBuild$"},
		{"Admission review in process: HTTP handler without a network", "./admission", "^BenchmarkReview$"},
		{"Parsing of a certificate chain, with and without the cache", "./registry/pki", "^BenchmarkParseChain$"},
	} {
		b.say("engine: %s %s", g.pkg, g.pattern)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", g.pattern, "-benchmem",
			"-benchtime", "200ms", "-count", strconv.Itoa(b.opts.rounds), g.pkg)
		cmd.Dir = b.root
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out.String()))
			continue
		}
		results := parseBenchmarks(out.String())
		t := &table{Title: g.title, Columns: []string{"benchmark", "us/op (IQR)", "KiB/op", "allocs/op"}}
		if len(results) == 0 {
			t.Notes = []string{fmt.Sprintf("%s has no benchmark %s.", g.pkg, g.pattern)}
		}
		for _, r := range results {
			t.Rows = append(t.Rows, []string{r.name, withSpread(r.micros), number(median(r.kib)), number(median(r.allocs))})
		}
		b.report.Samples["go test "+g.pkg] = out.String()
		b.report.benchmarks.WriteString(out.String())
		b.report.print(t)
	}
	return errors.Join(errs...)
}

type goBenchmark struct {
	name                string
	micros, kib, allocs []float64
}

var benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// parseBenchmarks reads the output of go test -bench. Equal names are repeats.
func parseBenchmarks(text string) []*goBenchmark {
	var out []*goBenchmark
	byName := map[string]*goBenchmark{}
	for line := range strings.Lines(text) {
		match := benchmarkLine.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		r := byName[match[1]]
		if r == nil {
			r = &goBenchmark{name: match[1]}
			byName[r.name] = r
			out = append(out, r)
		}
		r.add(strings.Fields(match[2]))
	}
	return out
}

// add takes pairs of value and unit, and ignores units that the table does not show.
func (r *goBenchmark) add(fields []string) {
	for i := 0; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			continue
		}
		switch fields[i+1] {
		case "ns/op":
			r.micros = append(r.micros, value/1000)
		case "B/op":
			r.kib = append(r.kib, value/1024)
		case "allocs/op":
			r.allocs = append(r.allocs, value)
		}
	}
}
