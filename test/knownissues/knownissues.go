// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package knownissues reads the tables of docs/known-issues.md, so that tests can walk the way out of each row.
package knownissues

import (
	"bufio"
	"io/fs"
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
	page, err := os.Open(filepath.Join(root(t), "docs/known-issues.md"))
	if err != nil {
		t.Fatal(err)
	}
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

// Check fails the test unless each reason is either walked, or excused with a sentence whose tests exist.
func Check[R ~string, W any](t *testing.T, reasons []string, walked map[R]W, excused map[R]string) {
	t.Helper()
	exist := tests(t)
	for _, reason := range reasons {
		_, walks := walked[R(reason)]
		excuse := excused[R(reason)]
		if walks == (excuse != "") {
			t.Errorf("docs/known-issues.md has the reason %s: walked %t, excused %q", reason, walks, excuse)
		}
		for _, name := range testName.FindAllString(excuse, -1) {
			if !exist[name] {
				t.Errorf("%s is excused by %s, which does not exist", reason, name)
			}
		}
	}
}

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(`)
)

// tests returns the names of all tests of the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(root(t), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range testFunc.FindAllSubmatch(text, -1) {
			out[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// root returns the root of the repository, which is above the directory of the test.
func root(t *testing.T) string {
	t.Helper()
	for up := "."; len(up) < 30; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return up
		}
	}
	t.Fatal("go.mod is in no directory above the test's")
	return ""
}
