// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testsummary reads the output of `go test -json` from its standard input and prints what people want to know:
// each package as it finishes, the whole output of what failed, and at the end how many tests of each kind passed, failed
// or were skipped, and every skipped test with its reason. It exits with 1 when something failed or when no test ran.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	ok, err := summarize(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testsummary: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// summarize copies the summary of the events in r to w. ok says that tests ran and that nothing failed.
func summarize(r io.Reader, w io.Writer) (ok bool, err error) {
	s := newSummary(w)
	if err := readEvents(r, s.add); err != nil {
		return false, fmt.Errorf("read the events of go test: %w", err)
	}
	return s.finish(), nil
}
