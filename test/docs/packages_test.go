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

// module is the prefix of imports of our own packages.
const module = "certrotation.dev/"

// tree has the packages of the product by directory.
type tree map[string]*pkg

type pkg struct {
	tree tree
	dir  string
	// values are constants and variables by name. functions are functions and methods by name; several methods may
	// share one.
	values    map[string]place[ast.Expr]
	functions map[string][]place[ast.Node]
	// calls are keyed by the name of the callee, literals by the name of the struct type.
	calls    map[string][]place[*ast.CallExpr]
	literals map[string][]place[*ast.CompositeLit]
	// assigned has the assignments, and variable declarations in the form of assignments.
	assigned []place[*ast.AssignStmt]
}

// place is a node with the functions around it and the imports of its file.
type place[N ast.Node] struct {
	node N
	scope
}

type scope struct {
	pkg  *pkg
	file *source
	// within are the functions around the node, *ast.FuncDecl or *ast.FuncLit, outermost first.
	within []ast.Node
	// bound are the arguments of one call, by parameter of the innermost function. nil stands for all calls.
	bound map[string]place[ast.Expr]
	// rest are the arguments of that call for a variadic parameter.
	rest []place[ast.Expr]
}

type source struct {
	positions *token.FileSet
	// imports maps the names of imports in the file to directories of our own packages, and to "" for others.
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

func theTree(t *testing.T) tree {
	t.Helper()
	all, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// add parses a file of a package. It reads the file if text is nil.
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

// note records what a node contains. elided is the type of literals that omit theirs as elements of another
// literal.
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

// declare records constants and variables with their values. It skips those without a value of their own, for
// example of iota.
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

// elementOf returns the name of the element type of a slice or a map, "" for other types.
func elementOf(kind ast.Expr) string {
	switch kind := kind.(type) {
	case *ast.ArrayType:
		return nameOf(kind.Elt)
	case *ast.MapType:
		return nameOf(kind.Value)
	}
	return ""
}

// where returns file and line of a place.
func (l place[N]) where() string {
	at := l.file.positions.Position(l.node.Pos())
	return strings.TrimPrefix(filepath.ToSlash(at.Filename), root+"/") + ":" + strconv.Itoa(at.Line)
}
