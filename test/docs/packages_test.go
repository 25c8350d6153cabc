// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path that imports of our own packages begin with.
const module = "certrotation.dev/"

// tree has the packages of the product by their directories, as what is written in them is to be followed.
type tree map[string]*pkg

// pkg is one package.
type pkg struct {
	tree tree
	dir  string
	// constants and variables of the package by name, with their values, and functions and methods by name: several methods may have one.
	values    map[string]place[ast.Expr]
	functions map[string][]place[ast.Node]
	// calls by the name of what is called, and literals of structs by the name of their type.
	calls    map[string][]place[*ast.CallExpr]
	literals map[string][]place[*ast.CompositeLit]
	// assigned are the assignments, and the declarations of variables as such.
	assigned []place[*ast.AssignStmt]
}

// place is a node with the functions that it is in, and the names of what its file imports.
type place[N ast.Node] struct {
	node N
	scope
}

type scope struct {
	pkg  *pkg
	file *source
	// within are the functions around it, *ast.FuncDecl or *ast.FuncLit, the outermost first.
	within []ast.Node
	// bound are the arguments of one call, for the parameters of the innermost function; nil for those of all calls.
	bound map[string]place[ast.Expr]
	// rest are the arguments of that call for the last parameter, if it takes any number of them.
	rest []place[ast.Expr]
}

type source struct {
	positions *token.FileSet
	// imports are the directories of our own packages by the names that the file has for them, and "" of others.
	imports map[string]string
}

var parseTree = sync.OnceValues(func() (tree, error) {
	all := tree{}
	for _, dir := range product {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
				strings.HasPrefix(entry.Name(), "zz_generated") {
				return err
			}
			in, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			return all.add(filepath.ToSlash(in), file, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
})

// theTree is parsed once for all tests.
func theTree(t *testing.T) tree {
	t.Helper()
	all, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// add parses a file of a package. Its text is read if it is nil.
func (all tree) add(dir, file string, text any) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p := all[dir]
	if p == nil {
		p = &pkg{
			tree: all, dir: dir, values: map[string]place[ast.Expr]{}, functions: map[string][]place[ast.Node]{},
			calls: map[string][]place[*ast.CallExpr]{}, literals: map[string][]place[*ast.CompositeLit]{},
		}
		all[dir] = p
	}
	from := &source{positions: files, imports: map[string]string{}}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		own, is := strings.CutPrefix(imported, module)
		if !is {
			own = ""
		}
		from.imports[name] = own
	}
	p.note(parsed, scope{pkg: p, file: from}, "")
	return nil
}

// note takes down what is in a node. elided is the type of literals that do not say theirs, as they are elements of another one.
func (p *pkg) note(node ast.Node, s scope, elided string) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			p.functions[n.Name.Name] = append(p.functions[n.Name.Name], place[ast.Node]{n, s})
			if n.Body != nil {
				p.note(n.Body, s.inside(n), "")
			}
			return false
		case *ast.FuncLit:
			p.note(n.Body, s.inside(n), "")
			return false
		case *ast.GenDecl:
			p.declare(n, s)
		case *ast.AssignStmt:
			p.assigned = append(p.assigned, place[*ast.AssignStmt]{n, s})
			for i, right := range n.Rhs {
				if literal, ok := right.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
					name := nameOf(n.Lhs[i])
					p.functions[name] = append(p.functions[name], place[ast.Node]{literal, s})
				}
			}
		case *ast.CallExpr:
			p.calls[nameOf(n.Fun)] = append(p.calls[nameOf(n.Fun)], place[*ast.CallExpr]{n, s})
		case *ast.CompositeLit:
			name := elided
			if n.Type != nil {
				name = nameOf(n.Type)
			}
			p.literals[name] = append(p.literals[name], place[*ast.CompositeLit]{n, s})
			of := elementOf(n.Type)
			for _, element := range n.Elts {
				p.note(element, s, of)
			}
			return false
		}
		return true
	})
}

// declare takes down constants and variables with their values. One without a value has none of its own, such as those of iota.
func (p *pkg) declare(d *ast.GenDecl, s scope) {
	for _, spec := range d.Specs {
		values, ok := spec.(*ast.ValueSpec)
		if !ok || len(values.Values) != len(values.Names) {
			continue
		}
		for i, name := range values.Names {
			if len(s.within) == 0 {
				p.values[name.Name] = place[ast.Expr]{values.Values[i], s}
				continue
			}
			p.assigned = append(p.assigned, place[*ast.AssignStmt]{
				&ast.AssignStmt{Lhs: []ast.Expr{name}, Tok: token.DEFINE, Rhs: []ast.Expr{values.Values[i]}}, s,
			})
		}
	}
}

func (s scope) inside(function ast.Node) scope {
	s.within = append(slices.Clip(s.within), function)
	return s
}

// elementOf is the name of the type of the elements of a slice or a map, "" if there is none.
func elementOf(kind ast.Expr) string {
	switch kind := kind.(type) {
	case *ast.ArrayType:
		return nameOf(kind.Elt)
	case *ast.MapType:
		return nameOf(kind.Value)
	}
	return ""
}

// where says in which line a place is.
func (l place[N]) where() string {
	at := l.file.positions.Position(l.node.Pos())
	return strings.TrimPrefix(filepath.ToSlash(at.Filename), root+"/") + ":" + strconv.Itoa(at.Line)
}
