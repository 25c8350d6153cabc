// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// protocol is the page of the invariants and of the configuration rules.
const protocol = "docs/protocol.md"

// TestDenialsAreExplained: docs/reference.md explains each rule of the guard with the invariants that it names.
// docs/protocol.md does so for the rules of configurations in flight. docs/reference.md also explains each text
// with which the guard says that it has no answer.
func TestDenialsAreExplained(t *testing.T) {
	t.Parallel()
	all := theTree(t)
	refuses, page := rules(t, all), tables(t, reference, "Denials")
	here := explained(t, page, "rule")
	inFlight := map[string][]string{}
	for _, one := range tables(t, protocol, "Edits of a configuration") {
		for _, row := range one.rows {
			for _, match := range aRule.FindAllStringSubmatch(row[1], -1) {
				inFlight[match[2]] = []string{match[2], "`" + match[1] + "`"}
			}
		}
	}
	for name := range inFlight {
		if here[name] != nil {
			t.Errorf("%s and %s both explain %s", reference, protocol, name)
		}
	}
	everywhere := maps.Clone(here)
	maps.Copy(everywhere, inFlight)
	same(t, "rule", reference+" or "+protocol, slices.Sorted(maps.Keys(refuses)), everywhere)
	for name, row := range everywhere {
		if got := slices.Sorted(slices.Values(inCode(row[1]))); refuses[name] != nil && !slices.Equal(got, refuses[name]) {
			t.Errorf("%s is explained with the invariants %q, want %q", name, got, refuses[name])
		}
	}
	same(t, "text", reference, answers(t, all), explained(t, page, "text"))
}

// TestInvariantsAreExplained: the table of docs/protocol.md has exactly the invariants. docs/reference.md names
// those that refuse no edit.
func TestInvariantsAreExplained(t *testing.T) {
	t.Parallel()
	explains := map[string][]string{}
	for _, one := range tables(t, protocol, "Invariants") {
		for _, row := range one.rows {
			for _, name := range inCode(row[0]) {
				explains[name] = row
			}
		}
	}
	invariants := constantsOf(t, "registry/trust", "Invariant")
	same(t, "invariant", protocol, invariants, explains)
	named := map[string]bool{}
	for _, of := range rules(t, theTree(t)) {
		for _, invariant := range of {
			named[invariant] = true
		}
	}
	silent := slices.DeleteFunc(slices.Sorted(slices.Values(invariants)), func(i string) bool { return named[i] })
	text := strings.Join(strings.Fields(read(t, reference)), " ")
	if says := "`" + strings.Join(silent, "` and `") + "` are kept by the controller and refuse no edit"; !strings.Contains(text, says) {
		t.Errorf("%s does not say: %s", reference, says)
	}
}

// aRule matches how docs/protocol.md names a rule.
var aRule = regexp.MustCompile("`([A-Z]\\w+)` \\(`([a-z]\\w+)`\\)")

// rules returns the rules by which the guard refuses edits, with the invariants that each may name. A rule is a
// function of registry/trust that makes a violation, or a listed configuration rule with the functions that it
// calls.
func rules(t *testing.T, all tree) map[string][]string {
	t.Helper()
	p := all["registry/trust"]
	made := map[string][]place[ast.Expr]{}
	note := func(at scope, invariant ast.Expr) {
		maker := at.within[0].(*ast.FuncDecl)
		if id, ok := invariant.(*ast.Ident); ok {
			if at, _ := parameter(maker, id.Name); at >= 0 {
				// The callers of maker choose the invariant.
				return
			}
		}
		made[maker.Name.Name] = append(made[maker.Name.Name], at.with(invariant))
	}
	for _, literal := range p.literals["Violation"] {
		if invariant := fieldOf(literal.node, "Invariant"); invariant != nil {
			note(literal.scope, invariant)
		}
	}
	for _, makes := range []string{"refuse", "broken"} {
		for _, call := range p.calls[makes] {
			// Another function named refuse refuses reports.
			if _, method := call.node.Fun.(*ast.SelectorExpr); method || makes == "broken" {
				note(call.scope, call.node.Args[0])
			}
		}
	}
	found, called := map[string][]string{}, map[string]bool{}
	invariants := func(of ...place[ast.Expr]) []string {
		out, unknown := texts(nil, of...)
		for _, place := range unknown {
			t.Errorf("%s: cannot tell which invariant is broken", place)
		}
		return out
	}
	for _, literal := range p.literals["configurationRule"] {
		rule := nameOf(fieldOf(literal.node, "judge"))
		var of []place[ast.Expr]
		for maker := range p.reached(rule, map[string]bool{}) {
			called[maker] = true
			of = append(of, made[maker]...)
		}
		if len(of) == 0 {
			t.Errorf("%s: the rule %q refuses nothing", literal.where(), rule)
		}
		found[rule] = invariants(of...)
	}
	for maker, of := range made {
		if !called[maker] {
			found[maker] = invariants(of...)
		}
	}
	return found
}

// reached adds a function of the package, and the functions that it calls directly or indirectly, to so. Of
// methods it follows only calls on the function's own receiver, because other methods belong to other types.
func (p *pkg) reached(name string, so map[string]bool) map[string]bool {
	so[name] = true
	for _, f := range p.functions[name] {
		own := "."
		if declared, ok := f.node.(*ast.FuncDecl); ok && declared.Recv != nil && len(declared.Recv.List[0].Names) == 1 {
			own = declared.Recv.List[0].Names[0].Name
		}
		ast.Inspect(f.node, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && nameOf(method.X) != own {
				return true
			}
			if callee := nameOf(call.Fun); len(p.functions[callee]) > 0 && !so[callee] {
				p.reached(callee, so)
			}
			return true
		})
	}
	return so
}

// answers returns the texts with which the guard says that it has no answer.
func answers(t *testing.T, all tree) []string {
	t.Helper()
	var of []place[ast.Expr]
	for _, literal := range all["admission"].literals["httpError"] {
		if len(literal.node.Elts) != 2 {
			t.Errorf("%s: want a code and a text", literal.where())
			continue
		}
		of = append(of, literal.with(literal.node.Elts[1]))
	}
	found, unknown := texts(nil, of...)
	for _, place := range unknown {
		t.Errorf("%s: cannot tell the text", place)
	}
	return found
}
