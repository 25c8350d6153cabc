// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// series are the registers and how many entries each has.
var series = map[string]int{"H": 24, "G": 13, "K": 15, "T": 35}

// row is a line of the table in doc.go.
type row struct{ id, text string }

var rowPattern = regexp.MustCompile(`^\t([HGKT]\d+)\s+(\S.*)$`)

// TestTable holds the table in doc.go to what there is: each identifier once, each test that it names, and each story of
// this package under the identifier of its name.
func TestTable(t *testing.T) {
	t.Parallel()
	rows := table(t)
	seen := map[string]int{}
	for _, r := range rows {
		seen[r.id]++
	}
	for letter, n := range series {
		for i := 1; i <= n; i++ {
			if id := fmt.Sprintf("%s%d", letter, i); seen[id] != 1 {
				t.Errorf("%s is %d times in the table", id, seen[id])
			}
			delete(seen, fmt.Sprintf("%s%d", letter, i))
		}
	}
	if len(seen) > 0 {
		t.Errorf("the table has what no register has: %v", seen)
	}
	named := map[string]bool{}
	known := map[string][]string{}
	for _, r := range rows {
		if strings.HasPrefix(r.text, "open: ") {
			continue
		}
		for reference := range strings.SplitSeq(r.text, ", ") {
			dir, test := ".", reference
			if elsewhere, name, found := strings.Cut(reference, " "); found {
				dir, test = filepath.Join("..", "..", filepath.FromSlash(elsewhere)), name
			} else {
				named[test] = true
			}
			if _, ok := known[dir]; !ok {
				known[dir] = testsOf(t, dir)
			}
			if !slices.Contains(known[dir], test) {
				t.Errorf("%s names %s, which does not exist", r.id, reference)
			}
		}
	}
	for _, test := range testsOf(t, ".") {
		id, _, isStory := strings.Cut(strings.TrimPrefix(test, "Test"), "_")
		if !isStory {
			continue
		}
		at := slices.IndexFunc(rows, func(r row) bool { return r.id == id })
		if !named[test] || at < 0 || !strings.HasPrefix(rows[at].text, test) {
			t.Errorf("%s is not the first test of %s in the table", test, id)
		}
	}
}

// table reads the rows of doc.go.
func table(t *testing.T) []row {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.SplitSeq(file.Doc.Text(), "\n") {
		if m := rowPattern.FindStringSubmatch(line); m != nil {
			rows = append(rows, row{id: m[1], text: m[2]})
		}
	}
	return rows
}

// testsOf are the names of the tests in a directory.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	var names []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// TestAStoryCanFail: what goes wrong in a story is its result.
func TestAStoryCanFail(t *testing.T) {
	t.Parallel()
	if got := tell(t, web, func(*world) {}, nil); got != "" {
		t.Errorf("a story in which nothing happens fails: %s", got)
	}
	if got := tell(t, web, func(w *world) { w.expect(false, "on purpose") }, nil); got != "on purpose" {
		t.Errorf("a story that fails ends with %q", got)
	}
	empty := func(w *world) {
		w.api.put(w.api.configMap("bundle"))
		cm := w.api.configMap("bundle")
		cm.Data = nil
		w.api.put(cm)
		w.check()
	}
	if got := tell(t, web, empty, nil); got != "the bundle holds no anchor" {
		t.Errorf("an empty bundle ends with %q", got)
	}
}
