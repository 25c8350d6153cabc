// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package knownissues reads the tables of docs/known-issues.md, so that tests can walk the way out of each row.
package knownissues

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var row = regexp.MustCompile("^\\| `([^`]+)` \\|")

// Reasons returns the reasons or messages in the tables of these sections, in the order of the page. It fails the test
// if a section has none.
func Reasons(t *testing.T, sections ...string) []string {
	t.Helper()
	page := open(t)
	defer page.Close()
	var out []string
	section, found := "", map[string]bool{}
	for lines := bufio.NewScanner(page); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			section = strings.TrimLeft(lines.Text(), "# ")
		}
		if cells := row.FindStringSubmatch(lines.Text()); cells != nil && slices.Contains(sections, section) {
			out, found[section] = append(out, cells[1]), true
		}
	}
	if len(found) != len(sections) {
		t.Fatalf("docs/known-issues.md has reasons in %v only, want %q", found, sections)
	}
	return out
}

// open opens the page, which is above the directory of the test.
func open(t *testing.T) *os.File {
	t.Helper()
	for up := "."; len(up) < 30; up = filepath.Join(up, "..") {
		if page, err := os.Open(filepath.Join(up, "docs/known-issues.md")); err == nil {
			return page
		}
	}
	t.Fatal("docs/known-issues.md is in no directory above the test's")
	return nil
}

// Check fails the test unless each reason is either walked, or excused with a sentence.
func Check(t *testing.T, reasons []string, walked func(reason string) bool, excused func(reason string) bool) {
	t.Helper()
	for _, reason := range reasons {
		if walked(reason) == excused(reason) {
			t.Errorf("docs/known-issues.md has the reason %s: walked %t, excused %t", reason, walked(reason), excused(reason))
		}
	}
}
