// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is the page that explains conditions, events, metrics and denials.
const reference = "docs/reference.md"

func TestEventsAreExplained(t *testing.T) {
	t.Parallel()
	same(t, "event", reference, events(t, theTree(t)), explained(t, tables(t, reference, "Events"), "event"))
}

// TestConditionsAreExplained: docs/reference.md explains each type of condition, the types of one kind of object
// in one table.
func TestConditionsAreExplained(t *testing.T) {
	t.Parallel()
	all := theTree(t)
	var kinds []map[string][]string
	rows := map[string][]string{}
	for _, one := range tables(t, reference, "Conditions") {
		of := explained(t, []table{one}, "condition")
		kinds = append(kinds, of)
		maps.Copy(rows, of)
	}
	same(t, "condition", reference, conditions(t, all), rows)
	declared := 0
	for dir, p := range all {
		of := p.constants(t, ofACondition)
		if !strings.HasPrefix(dir, "apis/") || len(of) == 0 {
			continue
		}
		declared++
		if !slices.ContainsFunc(kinds, func(rows map[string][]string) bool {
			return !slices.ContainsFunc(of, func(name string) bool { return rows[name] == nil })
		}) {
			t.Errorf("%s has no table with the conditions %q of %s", reference, of, dir)
		}
	}
	if declared < 2 {
		t.Errorf("%d packages declare conditions", declared)
	}
}

// TestReasonsOfConditionsAreExplained: docs/reference.md or docs/known-issues.md explains each reason of a
// condition.
func TestReasonsOfConditionsAreExplained(t *testing.T) {
	t.Parallel()
	page, said := tables(t, reference, "Conditions"), conditionReasons(theTree(t))
	if len(said) < 20 {
		t.Errorf("%d reasons of conditions: these are not all", len(said))
	}
	elsewhere := tablesIn(read(t, "docs/known-issues.md"))
	for _, reason := range append(said, constantsOf(t, "registry/csr", "Reason")...) {
		if !mentioned(page, reason) && !mentioned(elsewhere, reason) {
			t.Errorf("%s and docs/known-issues.md do not explain the reason %s of a condition", reference, reason)
		}
	}
	declared := written{texts: map[string]map[string]bool{}, reasons: map[string]map[string]bool{}}
	for _, dir := range product {
		if err := filepath.WalkDir(filepath.Join(root, dir), declared.walk); err != nil {
			t.Fatal(err)
		}
	}
	for reason := range explained(t, page, "reason") {
		if declared.reasons[reason] == nil && !slices.Contains(said, reason) {
			t.Errorf("%s explains the reason %s, which no code has", reference, reason)
		}
	}
}

// mentioned reports whether a table has the name in code.
func mentioned(of []table, name string) bool {
	return slices.ContainsFunc(of, func(one table) bool {
		return slices.ContainsFunc(one.rows, func(row []string) bool { return slices.Contains(inCode(strings.Join(row, " ")), name) })
	})
}

// events returns the reasons of all events: from each call of a recorder, and from each Event literal.
func events(t *testing.T, all tree) []string {
	t.Helper()
	var reasons []place[ast.Expr]
	for _, p := range all {
		for _, call := range p.calls["Eventf"] {
			// Arguments: object, related object, type, reason, action, note.
			if len(call.node.Args) >= 6 {
				reasons = append(reasons, call.with(call.node.Args[3]))
			}
		}
	}
	carriers := []string{"Event"}
	found, unknown := texts(carriers, append(reasons, all.fields(carriers, "Reason")...)...)
	for _, place := range unknown {
		t.Errorf("%s: cannot tell which reason the event has", place)
	}
	return slices.DeleteFunc(found, func(reason string) bool { return reason == "" })
}

// conditions returns the types of all conditions.
func conditions(t *testing.T, all tree) []string {
	t.Helper()
	carriers := []string{"Condition"}
	found, unknown := texts(carriers, all.fields(carriers, "Type")...)
	for _, place := range unknown {
		t.Errorf("%s: cannot tell which type the condition has", place)
	}
	return found
}

// conditionReasons returns the reasons of conditions. It omits the reasons that conditions share with other
// objects, such as problems.
func conditionReasons(all tree) []string {
	// A verdict becomes a condition.
	carriers := []string{"Condition", "verdict"}
	reasons := append(all.fields(carriers, "Reason"), all.fields(carriers, "reason")...)
	for _, p := range all {
		if len(p.literals["Condition"]) == 0 {
			continue
		}
		for _, a := range p.assigned {
			for i, left := range a.node.Lhs {
				if field, ok := left.(*ast.SelectorExpr); ok && field.Sel.Name == "Reason" && len(a.node.Rhs) > i {
					reasons = append(reasons, a.with(a.node.Rhs[i]))
				}
			}
		}
	}
	found, _ := texts(carriers, reasons...)
	return slices.DeleteFunc(found, func(reason string) bool { return !aWord.MatchString(reason) })
}

// ofACondition matches the constants of condition types.
var ofACondition = regexp.MustCompile(`^Condition[A-Z]`)

// constants returns the texts of the package's constants with a matching name.
func (p *pkg) constants(t *testing.T, called *regexp.Regexp) []string {
	t.Helper()
	var of []place[ast.Expr]
	for name, value := range p.values {
		if called.MatchString(name) {
			of = append(of, value)
		}
	}
	found, unknown := texts(nil, of...)
	for _, place := range unknown {
		t.Errorf("%s: cannot tell the text of the constant", place)
	}
	return found
}

// constantsOf returns the texts of the constants of a type in one package.
func constantsOf(t *testing.T, dir, kind string) []string {
	t.Helper()
	pattern := regexp.MustCompile(`(?m)^\s*(?:const )?\w+\s+` + regexp.QuoteMeta(kind) + `\s+= "(\w+)"`)
	var out []string
	for _, match := range pattern.FindAllStringSubmatch(sources(t, dir), -1) {
		out = append(out, match[1])
	}
	if len(out) == 0 {
		t.Errorf("%s has no constants of the type %s", dir, kind)
	}
	return out
}
