// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wordsOfAText is from how many words on a text is one that people search for.
const wordsOfAText = 5

// TestTextsAreWrittenOnce: who searches for the text of a denial, a problem, a blocker, a condition or an event finds one file.
func TestTextsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	files := map[string]map[string]bool{}
	for _, dir := range []string{
		"admission", "registry/trust", "registry/view", "registry/rollout", "registry/mirrorpod", "registry/quorum", "registry/address",
		"controller/evidence", "controller/etcdhealth",
	} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			return textsOf(file, files)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 100 {
		t.Fatalf("%d texts: these are not the packages that say something", len(files))
	}
	for _, text := range slices.Sorted(maps.Keys(files)) {
		if found := slices.Sorted(maps.Keys(files[text])); len(found) > 1 {
			t.Errorf("%q is in %s: say it in one place", text, strings.Join(found, " and "))
		}
	}
}

func textsOf(file string, files map[string]map[string]bool) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) >= wordsOfAText {
			if files[text] == nil {
				files[text] = map[string]bool{}
			}
			files[text][file] = true
		}
		return true
	})
	return nil
}
