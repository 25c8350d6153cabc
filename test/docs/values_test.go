// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// reader finds the texts that an expression may have, from the source alone. It follows constants, assignments to
// variables, results of functions, arguments of parameters, and fields of struct literals. It knows no types, so a
// name stands for everything of that name.
type reader struct {
	// carriers are the names of the structs whose fields are followed.
	carriers []string
	found    map[string]bool
	// unknown are the places whose text cannot be determined.
	unknown map[string]bool
	seen    map[ast.Expr]bool
}

// texts returns the texts that the expressions may have, and the places whose text cannot be determined.
func texts(carriers []string, expressions ...place[ast.Expr]) (found, unknown []string) {
	r := &reader{carriers: carriers, found: map[string]bool{}, unknown: map[string]bool{}, seen: map[ast.Expr]bool{}}
	for _, e := range expressions {
		r.read(e)
	}
	return slices.Sorted(maps.Keys(r.found)), slices.Sorted(maps.Keys(r.unknown))
}

func (r *reader) read(e place[ast.Expr]) {
	// The expression may be read again for another call with other arguments.
	if e.bound == nil {
		if r.seen[e.node] {
			return
		}
		r.seen[e.node] = true
	}
	switch node := e.node.(type) {
	case *ast.BasicLit:
		if node.Kind == token.STRING {
			r.found[textOf(node)] = true
			return
		}
		r.unknown[e.where()] = true
	case *ast.ParenExpr:
		r.read(e.with(node.X))
	case *ast.BinaryExpr:
		r.sum(e, node)
	case *ast.Ident:
		r.name(e, node.Name)
	case *ast.SelectorExpr:
		r.selected(e, node)
	case *ast.IndexExpr:
		r.element(e, node)
	case *ast.CallExpr:
		r.result(e.with(node), node, 0)
	default:
		r.unknown[e.where()] = true
	}
}

// with returns another expression of the same place.
func (s scope) with(e ast.Expr) place[ast.Expr] { return place[ast.Expr]{e, s} }

// sum reads a concatenation of texts.
func (r *reader) sum(e place[ast.Expr], node *ast.BinaryExpr) {
	left, unknown := texts(r.carriers, e.with(node.X))
	right, more := texts(r.carriers, e.with(node.Y))
	for _, place := range append(unknown, more...) {
		r.unknown[place] = true
	}
	for _, x := range left {
		for _, y := range right {
			r.found[x+y] = true
		}
	}
}

func (r *reader) name(e place[ast.Expr], name string) {
	for _, function := range slices.Backward(e.within) {
		if at, variadic := parameter(function, name); at >= 0 {
			r.argument(e, function, name, at, variadic)
			return
		}
		if r.variable(e, function, name) {
			return
		}
	}
	if value, ok := e.pkg.values[name]; ok {
		r.read(value)
		return
	}
	r.unknown[e.where()] = true
}

// parameter returns the index of a parameter of a function, -1 if there is none of that name.
func parameter(function ast.Node, name string) (at int, variadic bool) {
	for _, field := range kindOf(function).Params.List {
		_, takesMany := field.Type.(*ast.Ellipsis)
		for _, is := range field.Names {
			if is.Name == name {
				return at, takesMany
			}
			at++
		}
	}
	return -1, false
}

func kindOf(function ast.Node) *ast.FuncType {
	if declared, ok := function.(*ast.FuncDecl); ok {
		return declared.Type
	}
	if literal, ok := function.(*ast.FuncLit); ok {
		return literal.Type
	}
	return &ast.FuncType{Params: &ast.FieldList{}}
}

// argument reads the arguments of a parameter, from the bound call or from all calls in the package.
func (r *reader) argument(e place[ast.Expr], function ast.Node, name string, at int, variadic bool) {
	if bound, ok := e.bound[name]; ok && function == e.within[len(e.within)-1] {
		r.read(bound)
		return
	}
	calls := e.pkg.callsOf(function)
	if len(calls) == 0 || variadic {
		r.unknown[e.where()] = true
	}
	for _, call := range calls {
		if at < len(call.node.Args) {
			r.read(call.with(call.node.Args[at]))
		}
	}
}

// callsOf returns the calls in the package whose callee has the name of the function.
func (p *pkg) callsOf(function ast.Node) []place[*ast.CallExpr] {
	for name, functions := range p.functions {
		if slices.ContainsFunc(functions, func(f place[ast.Node]) bool { return f.node == function }) {
			return p.calls[name]
		}
	}
	return nil
}

// variable reads the values assigned to a variable in a function, and reports whether there are any.
func (r *reader) variable(e place[ast.Expr], function ast.Node, name string) bool {
	assigned := false
	for _, a := range e.pkg.assigned {
		if !slices.Contains(a.within, function) {
			continue
		}
		for i, left := range a.node.Lhs {
			if is, ok := left.(*ast.Ident); !ok || is.Name != name {
				continue
			}
			assigned = true
			switch call, _ := a.node.Rhs[0].(*ast.CallExpr); {
			case len(a.node.Lhs) == len(a.node.Rhs):
				r.read(a.with(a.node.Rhs[i]))
			case call != nil:
				r.result(a.with(call), call, i)
			default:
				r.unknown[a.where()] = true
			}
		}
	}
	return assigned
}

func (r *reader) selected(e place[ast.Expr], node *ast.SelectorExpr) {
	if of, ok := node.X.(*ast.Ident); ok {
		if dir, imported := e.file.imports[of.Name]; imported {
			if value, ok := e.pkg.tree.value(dir, node.Sel.Name); ok {
				r.read(value)
				return
			}
			r.unknown[e.where()] = true
			return
		}
	}
	fields := e.pkg.tree.fields(r.carriers, node.Sel.Name)
	if len(fields) == 0 {
		r.unknown[e.where()] = true
	}
	for _, value := range fields {
		r.read(value)
	}
}

func (all tree) value(dir, name string) (place[ast.Expr], bool) {
	p := all[dir]
	if p == nil {
		return place[ast.Expr]{}, false
	}
	value, ok := p.values[name]
	return value, ok
}

// fields returns the values of a field in the struct literals of all packages.
func (all tree) fields(structs []string, field string) []place[ast.Expr] {
	var out []place[ast.Expr]
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		for _, of := range structs {
			for _, literal := range all[dir].literals[of] {
				if value := fieldOf(literal.node, field); value != nil {
					out = append(out, literal.with(value))
				}
			}
		}
	}
	return out
}

// fieldOf returns the value of a field in a literal, nil if the literal omits it.
func fieldOf(literal *ast.CompositeLit, field string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == field {
			return pair.Value
		}
	}
	return nil
}

// element reads all elements of a map or slice literal.
func (r *reader) element(e place[ast.Expr], node *ast.IndexExpr) {
	literal, ok := node.X.(*ast.CompositeLit)
	if !ok {
		r.unknown[e.where()] = true
		return
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Value
		}
		r.read(e.with(element))
	}
}

// result reads the results at an index of a function of the package. A callee with the name of a type is a
// conversion.
func (r *reader) result(e place[ast.Expr], call *ast.CallExpr, index int) {
	name := nameOf(call.Fun)
	functions := e.pkg.functions[name]
	if len(functions) == 0 {
		if len(call.Args) != 1 || index > 0 || name == "" {
			r.unknown[e.where()] = true
			return
		}
		r.read(e.with(call.Args[0]))
		return
	}
	for _, f := range functions {
		declared, ok := f.node.(*ast.FuncDecl)
		if !ok {
			r.unknown[f.where()] = true
			continue
		}
		inside := f.inside(declared)
		ast.Inspect(declared.Body, func(n ast.Node) bool {
			if _, other := n.(*ast.FuncLit); other {
				return false
			}
			if returned, ok := n.(*ast.ReturnStmt); ok && index < len(returned.Results) {
				r.read(inside.with(returned.Results[index]))
			}
			return true
		})
	}
}

func TestTextsThatAnExpressionMayBe(t *testing.T) {
	t.Parallel()
	all := tree{}
	for _, file := range []struct{ dir, text string }{
		{"a", `package a
import "certrotation.dev/b"
import "example.com/c"
type thing struct{ Reason string }
const one, two = "One", "T" + "wo"
func literal()    { tell("Literal") }
func constant()   { tell(one) }
func converted()  { tell(string(b.Three)) }
func sum()        { tell("a_" + two) }
func foreign()    { tell(c.Four) }
func variable()   { x := one; if true { x = "Other" }; tell(x) }
func returned()   { x, _ := pick(); tell(x) }
func table()      { x := map[int]string{1: one, 2: "Second"}[3]; tell(x) }
func field(x *thing) { tell(x.Reason) }
func fill() []thing { return []thing{{Reason: "InAField"}} }
func passed(x string) { tell(x) }
func passes()     { passed("Passed") }
func named()      { say := func(x string) { tell(x) }; say("Said") }
func computed(n []string) { tell(n[0]) }
func pick() (string, error) { if true { return "", nil }; return "Returned", nil }
func tell(string) {}
`},
		{"b", `package b
const Three = "Three"
`},
	} {
		if err := all.add(file.dir, file.dir+".go", file.text); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		function string
		want     []string
		unknown  int
	}{
		{"literal", []string{"Literal"}, 0},
		{"constant", []string{"One"}, 0},
		{"converted", []string{"Three"}, 0},
		{"sum", []string{"a_Two"}, 0},
		{"foreign", nil, 1},
		{"variable", []string{"One", "Other"}, 0},
		{"returned", []string{"", "Returned"}, 0},
		{"table", []string{"One", "Second"}, 0},
		{"field", []string{"InAField"}, 0},
		{"passed", []string{"Passed"}, 0},
		{"named", []string{"Said"}, 0},
		{"computed", nil, 1},
	} {
		t.Run(test.function, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, call := range all["a"].calls["tell"] {
				if declared, ok := call.within[0].(*ast.FuncDecl); !ok || declared.Name.Name != test.function {
					continue
				}
				found++
				got, unknown := texts([]string{"thing"}, call.with(call.node.Args[0]))
				if !slices.Equal(got, test.want) || len(unknown) != test.unknown {
					t.Errorf("found %q, and %q unknown; want %q and %d", got, unknown, test.want, test.unknown)
				}
			}
			if found != 1 {
				t.Errorf("%d calls, want one", found)
			}
		})
	}
}
