// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

const module = "certrotation.dev/"

// kinds in the order of the table.
const (
	unit kind = iota
	property
	integration
	kindCount
)

type kind int

func (k kind) String() string { return [...]string{"unit", "property", "integration"}[k] }

// kindOf: a property test says so in its name or lives in the simulation; every other test below test/ runs against a
// real control plane.
func kindOf(pkg, test string) kind {
	dir := strings.TrimPrefix(pkg, module)
	switch {
	case strings.Contains(test, "Property") || strings.HasPrefix(dir+"/", "test/simulation/"):
		return property
	case strings.HasPrefix(dir, "test/"):
		return integration
	default:
		return unit
	}
}

// count is of tests without subtests of their own, so that a table test counts once for each case and not once more.
type count struct{ passed, failed, skipped int }

type testID struct{ pkg, test string }

// summary collects the events of go test, which may be run several times, also at the same time, for different packages.
type summary struct {
	mu sync.Mutex // While a part adds to it.

	w        io.Writer
	expected []string                    // Packages that have to end.
	ci       bool                        // A skipped test is a failure.
	ended    map[string]bool             // Packages that did.
	output   map[testID]*strings.Builder // Of tests and packages (test "") that did not end yet.
	parents  map[testID]bool             // Tests that have subtests.
	results  map[testID]string           // The final action of each test: pass, fail or skip.
	reasons  map[testID]string           // Why a test was skipped.
	broken   []string                    // What failed outside of a test: packages that do not compile, crash, or time out.
	cached   int                         // Packages whose results are those of an earlier run.
	stray    bool                        // go test itself printed something that is no event.
}

func newSummary(w io.Writer, expected []string, ci bool) *summary {
	return &summary{
		w: w, expected: expected, ci: ci, ended: map[string]bool{}, output: map[testID]*strings.Builder{},
		parents: map[testID]bool{}, results: map[testID]string{}, reasons: map[testID]string{},
	}
}

func (s *summary) add(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "run":
		s.addParents(id)
		// A test without an end is one that its package's crash or timeout cut off.
		s.results[id] = "unfinished"
	case "output":
		if s.output[id] == nil {
			s.output[id] = &strings.Builder{}
		}
		s.output[id].WriteString(e.Output)
	case "build-output":
		fmt.Fprint(s.w, e.Output)
	case "stray":
		s.stray = true
		fmt.Fprint(s.w, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(id, e.Action)
		}
	}
}

func (s *summary) addParents(id testID) {
	for i, r := range id.test {
		if r == '/' {
			s.parents[testID{id.pkg, id.test[:i]}] = true
		}
	}
}

func (s *summary) endTest(id testID, action string) {
	s.results[id] = action
	text := s.take(id)
	switch action {
	case "fail":
		fmt.Fprintf(s.w, "--- %s %s\n%s", id.pkg, id.test, text)
	case "skip":
		s.reasons[id] = skipReason(text)
	}
}

// endPackage prints the package's line, and its own output when it failed: a panic or a timeout is there.
func (s *summary) endPackage(e event) {
	s.ended[e.Package] = true
	text := s.take(testID{e.Package, ""})
	state := map[string]string{"pass": "ok", "fail": "FAIL", "skip": "no tests"}[e.Action]
	took := fmt.Sprintf("(%.1f s)", e.Elapsed)
	if strings.Contains(text, "ok  \t"+e.Package+"\t(cached)") {
		took = "(cached)"
		s.cached++
	}
	fmt.Fprintf(s.w, "%-9s %s %s\n", state, e.Package, took)
	if e.Action != "fail" {
		return
	}
	fmt.Fprint(s.w, text)
	explained := s.printUnfinished(e.Package)
	for id, result := range s.results {
		explained = explained || id.pkg == e.Package && result == "fail"
	}
	if e.FailedBuild != "" {
		s.broken = append(s.broken, e.Package+" does not compile")
	} else if !explained {
		s.broken = append(s.broken, e.Package+" failed outside of a test (crash, timeout or TestMain; see above)")
	}
}

// printUnfinished prints the tests of a package that were cut off, and says whether there are any.
func (s *summary) printUnfinished(pkg string) bool {
	found := false
	for _, id := range s.sorted() {
		if id.pkg == pkg && s.results[id] == "unfinished" {
			found = true
			fmt.Fprintf(s.w, "--- %s %s did not finish\n%s", id.pkg, id.test, s.take(id))
		}
	}
	return found
}

// part is one go test.
type part struct {
	summary *summary
	failed  bool // One of its packages.
}

// add prints what an event completes, as a whole: another part may print at the same time.
func (p *part) add(e event) {
	p.summary.mu.Lock()
	defer p.summary.mu.Unlock()
	p.failed = p.failed || e.Action == "fail" && e.Test == ""
	p.summary.add(e)
}

// exited takes the end of a go test. When a package of it failed, the exit code 1 says nothing new; every other error does.
func (p *part) exited(err error) {
	var exit *exec.ExitError
	known := p.failed && errors.As(err, &exit) && exit.ExitCode() == 1
	if err == nil || known {
		return
	}
	p.summary.mu.Lock()
	defer p.summary.mu.Unlock()
	p.summary.broken = append(p.summary.broken, "go test: "+err.Error())
}

// missing finds the packages that did not end, whatever go test said.
func (s *summary) missing() {
	for _, pkg := range s.expected {
		if s.ended[pkg] {
			continue
		}
		fmt.Fprintf(s.w, "%-9s %s\n%s", "NO END", pkg, s.take(testID{pkg, ""}))
		s.printUnfinished(pkg)
		s.broken = append(s.broken, pkg+" did not report its end")
	}
}

func (s *summary) take(id testID) string {
	text := s.output[id]
	delete(s.output, id)
	if text == nil {
		return ""
	}
	return text.String()
}

// sorted is every test that ran, by package and name.
func (s *summary) sorted() []testID {
	ids := make([]testID, 0, len(s.results))
	for id := range s.results {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b testID) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test)) })
	return ids
}

// finish prints the summary; it is true when tests ran and nothing failed.
func (s *summary) finish() bool {
	s.missing()
	var counts [kindCount]count
	var failed, skipped []string
	for _, id := range s.sorted() {
		if !s.counted(id) {
			continue
		}
		c := &counts[kindOf(id.pkg, id.test)]
		name := strings.TrimPrefix(id.pkg, module) + " " + id.test
		switch result := s.results[id]; {
		case result == "pass":
			c.passed++
		case result == "skip" && s.ci:
			c.failed++
			failed = append(failed, name+" (skipped, which is a failure on CI): "+s.reasons[id])
		case result == "skip":
			c.skipped++
			skipped = append(skipped, name+": "+s.reasons[id])
		case result == "fail":
			c.failed++
			failed = append(failed, name)
		default:
			c.failed++
			failed = append(failed, name+" (did not finish)")
		}
	}
	s.section("failed tests", failed)
	s.section("failed outside of tests", s.broken)
	s.section("skipped tests, and why", skipped)
	return s.table(counts)
}

// counted is false for a test whose subtests are counted in its place; its own result is one more when it is not theirs.
func (s *summary) counted(id testID) bool {
	return !s.parents[id] || s.results[id] == "skip" || s.failedAlone(id)
}

// failedAlone is true for a test that failed although none of its subtests did.
func (s *summary) failedAlone(id testID) bool {
	if s.results[id] == "pass" || s.results[id] == "skip" {
		return false
	}
	for other, result := range s.results {
		if other.pkg == id.pkg && strings.HasPrefix(other.test, id.test+"/") && result != "pass" && result != "skip" {
			return false
		}
	}
	return true
}

func (s *summary) section(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(s.w, "\n%s:\n  %s\n", title, strings.Join(lines, "\n  "))
}

// table prints the counts; its last line is alone on its line, for people and scripts.
func (s *summary) table(counts [kindCount]count) bool {
	var sum count
	fmt.Fprintln(s.w)
	t := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tPASSED\tFAILED\tSKIPPED")
	for k, c := range counts {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", kind(k), c.passed, c.failed, c.skipped)
		sum.passed, sum.failed, sum.skipped = sum.passed+c.passed, sum.failed+c.failed, sum.skipped+c.skipped
	}
	t.Flush() // Writing to a terminal or a pipe that is gone ends the program by SIGPIPE.
	// A package that broke outside of its tests is a failure that no test counts.
	sum.failed += len(s.broken)
	if s.stray {
		fmt.Fprintln(s.w, "\ngo test printed more than test events (see above); that counts as a failure")
		sum.failed++
	}
	if s.cached > 0 {
		fmt.Fprintf(s.w, "\n%d of %d packages did not run: their results are cached (-count=1 runs them)\n", s.cached, len(s.ended))
	}
	if sum.passed+sum.failed == 0 {
		fmt.Fprintln(s.w, "\nno test ran; that counts as a failure")
	}
	fmt.Fprintf(s.w, "\n%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	return sum.failed == 0 && sum.passed > 0
}

// skipReason picks the text of t.Skip out of a test's output: the lines that are not go test's own.
func skipReason(output string) string {
	var reason []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// "file.go:12: reason"
		if at, text, found := strings.Cut(line, ": "); found && strings.Contains(at, ".go:") {
			line = text
		}
		reason = append(reason, line)
	}
	if len(reason) == 0 {
		return "(no reason given)"
	}
	return strings.Join(reason, " ")
}
