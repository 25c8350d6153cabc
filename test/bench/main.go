// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
)

type options struct {
	sections []string
	sizes    sizes
	rounds   int
	leaves   int
	// namespaces of the section secrets.
	namespaces int
	pods       int
	quiet      time.Duration
	watchers   sizes
}

// section is a part of the benchmark that a run can leave out.
type section struct {
	name, about string
	// onCluster means that the section needs a running control plane.
	onCluster bool
	// alone means that the section gets a cluster of its own, because it counts what is in the cluster.
	alone bool
	run   func(*bench, context.Context) error
}

// allSections returns the sections in the order in which they run.
func allSections() []section {
	return []section{
		{name: "engine", about: "model, view engine and admission review in process", run: (*bench).goBenchmarks},
		{name: "keys", about: "issuance against the machine's key generation and signing rate", run: (*bench).keys},
		{name: "writes", about: "kube-apiserver's own Secret write rate", onCluster: true, run: (*bench).writes},
		{name: "bootstrap", about: "the controller, from a configuration to all Ready", onCluster: true, run: (*bench).bootstrap},
		{name: "admission", about: "writes of a guarded and of an unguarded namespace", onCluster: true, run: (*bench).admission},
		{name: "secrets", about: "controller/secrets in many namespaces: requests, time and memory", alone: true, run: (*bench).secrets},
		{name: "pods", about: "thousands of pods as members: memory, requests at rest, a rotation", alone: true, run: (*bench).pods},
		{name: "view", about: "list, get, watch and memory of the virtual API", onCluster: true, alone: true, run: (*bench).view},
	}
}

func main() {
	err := interruptible(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

func interruptible(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	opts, err := parse(args, progress)
	if err != nil {
		return err
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	dir := filepath.Join(root, ".local", "bench")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	b := &bench{root: root, dir: dir, opts: opts, progress: progress, report: newReport(out, args)}
	if err := b.machine(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop(err != nil), b.save()) }()
	var errs []error
	for _, s := range allSections() {
		if slices.Contains(opts.sections, s.name) && ctx.Err() == nil {
			errs = append(errs, b.run(ctx, &s))
		}
	}
	return errors.Join(errs...)
}

// run runs a section. The others run even if one fails.
func (b *bench) run(ctx context.Context, s *section) error {
	if s.alone {
		if err := b.stop(false); err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
	}
	if s.onCluster {
		if err := b.start(ctx); err != nil {
			return fmt.Errorf("section %s: start the control plane: %w", s.name, err)
		}
	}
	b.say("%s: %s", s.name, s.about)
	begun := time.Now()
	if err := s.run(b, ctx); err != nil {
		b.say("%s failed: %v", s.name, err)
		return fmt.Errorf("section %s: %w", s.name, err)
	}
	b.say("%s took %.0f s", s.name, time.Since(begun).Seconds())
	return nil
}

func parse(args []string, progress io.Writer) (options, error) {
	opts := options{sizes: sizes{1_000, 10_000}, watchers: sizes{1, 50}}
	all := allSections()
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	chosen := flags.String("sections", strings.Join(names, ","), "what to measure, separated by commas")
	flags.Var(&opts.sizes, "sizes", "numbers of certificates of the virtual API, rising multiples of 100")
	flags.Var(&opts.watchers, "watchers", "numbers of simultaneous watches")
	flags.IntVar(&opts.rounds, "rounds", 3, "repeats of each batch")
	flags.IntVar(&opts.leaves, "leaves", 300, "leaves of the namespace that the controller bootstraps")
	flags.IntVar(&opts.namespaces, "namespaces", 1000, "namespaces of the section secrets")
	flags.IntVar(&opts.pods, "pods", inventory.MaxPods, "pods of the party of the section pods")
	flags.DurationVar(&opts.quiet, "quiet", 3*time.Minute, "how long the section pods counts requests at rest")
	flags.Usage = func() {
		fmt.Fprintln(progress, "usage: bench [flags]\n\nSections:")
		for _, s := range all {
			fmt.Fprintf(progress, "  %-10s %s\n", s.name, s.about)
		}
		fmt.Fprintln(progress, "\nFlags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.sections = strings.Split(*chosen, ",")
	for _, name := range opts.sections {
		if !slices.Contains(names, name) {
			return opts, fmt.Errorf("there is no section %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return opts, opts.check(flags.Args())
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected arguments %q", rest)
	case o.rounds < 1 || o.leaves < 1 || o.pods < 1 || o.namespaces < 1:
		return errors.New("-rounds, -leaves, -pods and -namespaces must be at least 1")
	case !slices.IsSorted(o.sizes):
		return fmt.Errorf("-sizes is %v, want rising numbers: each fills up the one before", o.sizes)
	}
	for _, size := range o.sizes {
		if size%perNamespace != 0 {
			return fmt.Errorf("-sizes has %d, want multiples of %d", size, perNamespace)
		}
	}
	return nil
}
