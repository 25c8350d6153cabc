// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// root is the repository, relative to the directory of this package.
const root = "../.."

// product are the directories whose packages the pages may name.
var product = []string{"admission", "apis", "cmd", "controller", "registry"}

// code is what the product declares.
type code struct {
	// packages has the base names of the packages.
	packages map[string]bool
	// declared has package.Name and package.Type.Method. Packages with the same base name share their entries.
	declared map[string]bool
}

var parseProduct = sync.OnceValues(func() (*code, error) {
	c := &code{packages: map[string]bool{}, declared: map[string]bool{}}
	for _, dir := range product {
		if err := filepath.WalkDir(filepath.Join(root, dir), c.walk); err != nil {
			return nil, err
		}
	}
	return c, nil
})

func theCode(t *testing.T) *code {
	t.Helper()
	c, err := parseProduct()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *code) walk(file string, entry fs.DirEntry, err error) error {
	if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg := path.Base(filepath.ToSlash(filepath.Dir(file)))
	c.packages[pkg] = true
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			c.declared[pkg+"."+receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, name := range names(spec) {
					c.declared[pkg+"."+name] = true
				}
			}
		}
	}
	return nil
}

// receiver is "Type." of a method, "" of a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	for {
		switch is := of.(type) {
		case *ast.StarExpr:
			of = is.X
		case *ast.IndexExpr:
			of = is.X
		case *ast.Ident:
			return is.Name + "."
		default:
			return ""
		}
	}
}

func names(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var out []string
		for _, name := range s.Names {
			out = append(out, name.Name)
		}
		return out
	}
	return nil
}

func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exists reports whether a path of the repository exists. The path may contain a glob pattern.
func exists(file string) bool {
	found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(file)))
	return err == nil && len(found) > 0
}

// TestPackageNamesAreUnique: a search for a package name must find one package.
func TestPackageNamesAreUnique(t *testing.T) {
	t.Parallel()
	places := map[string]string{}
	for _, dir := range []string{"admission", "apis", "controller", "registry"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() || entry.Name() == "testdata" || version.MatchString(entry.Name()) {
				return err
			}
			if files, err := filepath.Glob(filepath.Join(at, "*.go")); err != nil || len(files) == 0 {
				return err
			}
			if other, taken := places[entry.Name()]; taken {
				t.Errorf("%s and %s have one name", other, at)
			}
			places[entry.Name()] = at
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// version matches the directory of an API version.
var version = regexp.MustCompile(`^v[0-9]+(?:(?:alpha|beta)[0-9]+)?$`)
