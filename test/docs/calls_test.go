// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"slices"
)

// onEachCall returns one scope for each call of the innermost function, with the arguments of that call. A
// function without parameters or calls keeps the scope as it is.
func (s scope) onEachCall() []scope {
	if len(s.within) == 0 {
		return []scope{s}
	}
	function := s.within[len(s.within)-1]
	params := kindOf(function).Params.List
	if len(params) == 0 {
		return []scope{s}
	}
	var out []scope
	for _, call := range s.pkg.callsOf(function) {
		one := s
		one.bound = map[string]place[ast.Expr]{}
		at := 0
		for _, field := range params {
			_, takesMany := field.Type.(*ast.Ellipsis)
			for _, name := range field.Names {
				if takesMany {
					for _, more := range call.node.Args[min(at, len(call.node.Args)):] {
						one.rest = append(one.rest, call.with(more))
					}
				} else if at < len(call.node.Args) {
					one.bound[name.Name] = call.with(call.node.Args[at])
				}
				at++
			}
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return []scope{s}
	}
	return out
}

// list returns the texts of a list. The list may be a literal, a variable, the last parameter, or two lists joined
// by append.
func (s scope) list(e ast.Expr) (found []string, sure bool) {
	elements := func(of ...place[ast.Expr]) ([]string, bool) {
		var out []string
		for _, element := range of {
			one, unknown := texts(nil, element)
			if len(one) != 1 || len(unknown) > 0 {
				return nil, false
			}
			out = append(out, one[0])
		}
		return out, true
	}
	switch e := e.(type) {
	case nil:
		return nil, true
	case *ast.CompositeLit:
		var of []place[ast.Expr]
		for _, element := range e.Elts {
			of = append(of, s.with(element))
		}
		return elements(of...)
	case *ast.CallExpr:
		if nameOf(e.Fun) != "append" || len(e.Args) != 2 || !e.Ellipsis.IsValid() {
			return nil, false
		}
		first, sure := s.list(e.Args[0])
		second, also := s.list(e.Args[1])
		return append(first, second...), sure && also
	case *ast.Ident:
		for _, function := range slices.Backward(s.within) {
			if at, takesMany := parameter(function, e.Name); at >= 0 {
				if !takesMany || s.bound == nil {
					return nil, false
				}
				return elements(s.rest...)
			}
			for _, a := range s.pkg.assigned {
				if slices.Contains(a.within, function) && len(a.node.Lhs) == 1 && nameOf(a.node.Lhs[0]) == e.Name {
					return a.list(a.node.Rhs[0])
				}
			}
		}
		if value, ok := s.pkg.values[e.Name]; ok {
			return value.list(value.node)
		}
	}
	return nil, false
}
