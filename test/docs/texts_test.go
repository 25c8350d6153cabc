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

// wordsOfAText is the length from which people search for a text.
const wordsOfAText = 5

// TestTextsAreWrittenOnce: a search for the text of a denial, problem, blocker, condition, event or flag finds one
// file. A search for a reason finds one place.
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

// written has texts by file, and reasons by the lines that declare them.
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
			// A text that only wraps an error is searched for by the text around it.
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

// textOf returns the text of a string literal, "" for other literals.
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
	// aWord matches the spelling of a reason.
	aWord = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	// ofAReason matches the names of constants that are reasons.
	ofAReason = regexp.MustCompile(`^([rR]eason|Event)[A-Z]`)
)

// reasonsOf returns the reasons of conditions, problems, blockers, defects, refusals and events in a node. A
// reason is a constant with such a type or name, or the value of a field.
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

// nameOf returns the last part of a name, "" for other expressions.
func nameOf(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.SelectorExpr:
		return expr.Sel.Name
	}
	return ""
}
