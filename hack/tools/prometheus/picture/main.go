// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command picture draws the dashboard over a part of the simulated year, so that it can be looked at without a Grafana.
//
//	picture -dashboard manifests/dashboard/certrotation.json -output docs/dashboard.png -from 2026-06-01T08:30:00Z -for 4h
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"certrotation.dev/hack/tools/prometheus/dashboard"
	"certrotation.dev/hack/tools/prometheus/year"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	file := flag.String("dashboard", "", "The dashboard.")
	output := flag.String("output", "", "Where the picture is written to, as PNG.")
	from := flag.String("from", year.Begin.Format(time.RFC3339), "The moment of the simulated year, which is 2026, that the picture begins with.")
	length := flag.Duration("for", year.Length, "How much of the year the picture shows.")
	flag.Parse()
	begin, err := time.Parse(time.RFC3339, *from)
	if err != nil {
		return fmt.Errorf("parse -from: %w", err)
	}
	board, err := dashboard.Read(*file)
	if err != nil {
		return err
	}
	// As many points as Grafana would ask for in a panel of that width, on a round number of scrapes.
	const points = 400
	step := max((*length / points).Round(30*time.Second), 30*time.Second)
	drawn, err := drawBoard(ctx, board, dashboard.NewEngine(year.Healthy()), dashboard.Range{From: begin, To: begin.Add(*length), Step: step})
	if err != nil {
		return err
	}
	to, err := os.Create(*output)
	if err != nil {
		return fmt.Errorf("make the picture: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := drawn.WriteTo(to); err != nil {
		return fmt.Errorf("write %s: %w", *output, err)
	}
	return nil
}
