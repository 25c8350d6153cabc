// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testsummary runs go test and prints what people want to know: each package as it finishes, the whole output of
// what failed, and at the end how many tests of each kind passed, failed or were skipped, and every skipped test with its
// reason. Its arguments are those of go test: packages (./... when there is none), and flags in the form -name=value.
//
// It exits with 1 when something failed, when no test ran, and when it cannot know: it starts go test itself, because
// behind a pipe the death of a go test looks like its end, and insists on the end of every package that go list names.
// With CI=true in the environment a skipped test is a failure, as nobody reads why a machine skipped it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:], os.Getenv("CI") == "true", os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "testsummary: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run prints the summary of the tests that the arguments name to w. ok says that tests ran and that nothing failed.
func run(ctx context.Context, args []string, ci bool, w io.Writer) (ok bool, err error) {
	flags, patterns := split(args)
	packages, err := listPackages(ctx, patterns)
	if err != nil {
		return false, err
	}
	s := newSummary(w, packages, ci)
	var running sync.WaitGroup
	for _, l := range lanes(packages) {
		running.Go(func() {
			for _, b := range l {
				p := &part{summary: s}
				p.exited(goTest(ctx, b, flags, p.add))
			}
		})
	}
	running.Wait()
	return s.finish(), nil
}

func split(args []string) (flags, patterns []string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			flags = append(flags, arg)
		} else {
			patterns = append(patterns, arg)
		}
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	return flags, patterns
}
