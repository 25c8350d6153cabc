// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wordsOfAText is from how many words on a text is one that people search for.
const wordsOfAText = 5

// TestTextsAreWrittenOnce: who searches for the text of a denial, a problem, a blocker, a condition, an event or a flag finds one
// file, and who searches for a reason finds one place.
func TestTextsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	found := written{texts: map[string]map[string]bool{}, reasons: map[string]map[string]bool{}}
	for _, dir := range product {
		if err := filepath.WalkDir(filepath.Join(root, dir), found.walk); err != nil {
			t.Fatal(err)
		}
	}
	if len(found.texts) < 1000 || len(found.reasons) < 100 {
		t.Fatalf("%d texts and %d reasons: these are not the packages that say something", len(found.texts), len(found.reasons))
	}
	for _, once := range []map[string]map[string]bool{found.texts, found.reasons} {
		for _, text := range slices.Sorted(maps.Keys(once)) {
			if places := slices.Sorted(maps.Keys(once[text])); len(places) > 1 {
				t.Errorf("%q is in %s: say it in one place", text, strings.Join(places, " and "))
			}
		}
	}
}

// written has texts by their files, and reasons by the lines that declare them.
type written struct{ texts, reasons map[string]map[string]bool }

func (w *written) walk(file string, entry fs.DirEntry, err error) error {
	if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated") {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		for _, literal := range reasonsOf(node) {
			note(w.reasons, textOf(literal), fmt.Sprintf("%s:%d", file, files.Position(literal.Pos()).Line))
		}
		switch node := node.(type) {
		case *ast.Field:
			return node.Tag == nil
		case *ast.BasicLit:
			// A text that wraps an error is found by what is around it.
			if text := textOf(node); len(strings.Fields(text)) >= wordsOfAText && !strings.HasSuffix(text, ": %w") {
				note(w.texts, text, file)
			}
		}
		return true
	})
	return nil
}

func note(places map[string]map[string]bool, text, place string) {
	if places[text] == nil {
		places[text] = map[string]bool{}
	}
	places[text][place] = true
}

// textOf is what a literal says, "" if it is no string.
func textOf(literal *ast.BasicLit) string {
	if literal.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return text
}

var (
	// aWord is how a reason is written.
	aWord = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	// ofAReason is how a constant is called that is one.
	ofAReason = regexp.MustCompile(`^([rR]eason|Event)[A-Z]`)
)

// reasonsOf are the reasons of conditions, problems, blockers, defects, refusals and events that a node writes down: as the
// constant of such a type or name, or as the value of a field.
func reasonsOf(node ast.Node) []*ast.BasicLit {
	var values []ast.Expr
	switch node := node.(type) {
	case *ast.ValueSpec:
		if nameOf(node.Type) == "Reason" || ofAReason.MatchString(node.Names[0].Name) {
			values = node.Values
		}
	case *ast.KeyValueExpr:
		if name := nameOf(node.Key); strings.EqualFold(name, "reason") {
			values = []ast.Expr{node.Value}
		}
	case *ast.AssignStmt:
		for i, left := range node.Lhs {
			if strings.EqualFold(nameOf(left), "reason") && len(node.Rhs) > i {
				values = append(values, node.Rhs[i])
			}
		}
	}
	var out []*ast.BasicLit
	for _, value := range values {
		if literal, ok := value.(*ast.BasicLit); ok && aWord.MatchString(textOf(literal)) {
			out = append(out, literal)
		}
	}
	return out
}

// nameOf is the last part of a name, "" for what is none.
func nameOf(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.SelectorExpr:
		return expr.Sel.Name
	}
	return ""
}
