// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// mostLines of the README. Longer texts belong into docs.
const mostLines = 120

// pages returns the files that people read.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "manifests/alerts/RUNBOOK.md"}
	for _, file := range found {
		out = append(out, path.Join("docs", filepath.Base(file)))
	}
	return out
}

func TestREADMEIsOneScreen(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	if lines := strings.Count(readme, "\n"); lines > mostLines {
		t.Errorf("the README has %d lines, more than %d", lines, mostLines)
	}
	for _, page := range pages(t) {
		if page != "README.md" && !strings.Contains(readme, "("+page+")") {
			t.Errorf("the README has no link to %s", page)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			switch {
			case !exists(target):
				t.Errorf("%s: the link %s leads to no file", page, match[1])
			case anchor != "" && !slices.Contains(anchors(read(t, target)), anchor):
				t.Errorf("%s: the link %s leads to no heading", page, match[1])
			}
		}
	}
}

// anchors returns the link targets of the headings of a page.
func anchors(page string) []string {
	var out []string
	for line := range strings.SplitSeq(page, "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ', r == '-':
				return '-'
			case r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading)))
	}
	return out
}

var (
	// aPath matches a path of the repository, in text or in code. {a,b} stands for several.
	aPath   = regexp.MustCompile(`(?:^|[\s(\x60"=,])(?:\./)?((?:\.ci|admission|apis|cmd|controller|docs|generated|hack|manifests|registry|test)/[\w{][\w./*{},-]*)`)
	choices = regexp.MustCompile(`^(.*)\{([^{}]*)\}(.*)$`)
	// aName matches package.Name or package.Type.Method in code of its own.
	aName = regexp.MustCompile("`" + `([a-z][a-z0-9]*)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)` + "`")
	// isFile matches file extensions, which distinguish a file from a name.
	isFile = regexp.MustCompile(`^(?:go|json|lock|md|sh|tar|txt|yaml)$`)
)

func TestPathsExist(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, match := range aPath.FindAllStringSubmatch(read(t, page), -1) {
			for _, file := range expand(strings.TrimRight(match[1], ".,/")) {
				if !exists(file) {
					t.Errorf("%s names %s, which does not exist", page, file)
				}
			}
		}
	}
}

// expand returns a path for each of the choices {a,b}.
func expand(file string) []string {
	match := choices.FindStringSubmatch(file)
	if match == nil {
		return []string{file}
	}
	var out []string
	for choice := range strings.SplitSeq(match[2], ",") {
		out = append(out, expand(match[1]+choice+match[3])...)
	}
	return out
}

func TestNamesAreDeclared(t *testing.T) {
	t.Parallel()
	c := theCode(t)
	for _, page := range pages(t) {
		for _, match := range aName.FindAllStringSubmatch(read(t, page), -1) {
			pkg, name := match[1], match[2]
			if !c.packages[pkg] || isFile.MatchString(name) {
				continue
			}
			if !c.declared[pkg+"."+name] {
				t.Errorf("%s names %s.%s, which is not declared", page, pkg, name)
			}
		}
	}
}

func TestWhatThesePatternsFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		pattern *regexp.Regexp
		text    string
		want    []string
	}{
		{"a path in code", aPath, "see `registry/trust`.", []string{"registry/trust"}},
		{"choices", aPath, "in `controller/{copies,cleaner}` and", []string{"controller/{copies,cleaner}"}},
		{"a path of go test", aPath, "go test ./test/docs", []string{"test/docs"}},
		{"no path of the host", aPath, "/etc/kubernetes/manifests/etcd.yaml", nil},
		{"no name of an API", aPath, "certrotation.dev/docs/x", nil},
		{"a function", aName, "`trust.Assess`", []string{"trust"}},
		{"a method", aName, "`view.Store.Apply`", []string{"view"}},
		{"no sentence", aName, "`kubectl get x.y`", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, match := range test.pattern.FindAllStringSubmatch(test.text, -1) {
				got = append(got, match[1])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestReasonsAreExplained: a table of the responsible page explains each reason of a blocker or a problem.
func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	for dir, page := range map[string]string{
		"registry/pki": "docs/known-issues.md", "registry/trust": "docs/known-issues.md", "registry/rollout": "docs/known-issues.md",
		"registry/view/inventory": "docs/known-issues.md",
		"registry/restart":        "docs/pods.md", "controller/reload": "docs/pods.md", "controller/agent": "docs/pods.md",
	} {
		rows := map[string]bool{}
		for _, one := range tablesIn(read(t, page)) {
			for _, row := range one.rows {
				for _, name := range inCode(row[0]) {
					rows[name] = true
				}
			}
		}
		reasons := aReason.FindAllStringSubmatch(sources(t, dir), -1)
		if len(reasons) == 0 {
			t.Errorf("%s has no reasons", dir)
		}
		for _, match := range reasons {
			if !rows[match[1]] {
				t.Errorf("%s does not explain %s of %s", page, match[1], dir)
			}
		}
	}
}

// aReason matches the declaration of a reason.
var aReason = regexp.MustCompile(`(?m)^\s*(?:const )?Reason\w+\s+(?:(?:\w+\.)?Reason )?= "(\w+)"`)
