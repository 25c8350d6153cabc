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

// metric has what is registered under a name.
type metric struct {
	kind   string
	labels []string
	dirs   []string
}

// ofOptions matches the types of metric options; the submatch is the kind of metric.
var ofOptions = regexp.MustCompile(`^(Counter|Gauge|Histogram|Summary)Opts$`)

// metrics returns all metrics of the code by name.
func metrics(t *testing.T, all tree) map[string]*metric {
	t.Helper()
	made := registered{}
	for _, p := range all {
		for options, literals := range p.literals {
			kind := ofOptions.FindStringSubmatch(options)
			if kind == nil {
				continue
			}
			for _, literal := range literals {
				var parts []ast.Expr
				for _, field := range []string{"Namespace", "Subsystem", "Name"} {
					if value := fieldOf(literal.node, field); value != nil {
						parts = append(parts, value)
					}
				}
				made.add(t, place[ast.Node]{literal.node, literal.scope}, strings.ToLower(kind[1]), p.labelsOf(literal.node), parts...)
			}
		}
		for _, call := range p.calls["NewDesc"] {
			made.add(t, place[ast.Node]{call.node, call.scope}, p.kindOfValues(), call.node.Args[2], call.node.Args[0])
		}
	}
	return made
}

type registered map[string]*metric

// add records the metric made at a place, once for each call of the surrounding function.
func (r registered) add(t *testing.T, at place[ast.Node], kind string, labels ast.Expr, parts ...ast.Expr) {
	t.Helper()
	for _, one := range at.onEachCall() {
		name, known := one.joined(parts)
		of, sure := one.list(labels)
		if !known || !sure {
			t.Errorf("%s: cannot tell the name of the metric or its labels", at.where())
			continue
		}
		slices.Sort(of)
		if r[name] == nil {
			r[name] = &metric{kind: kind, labels: of}
		}
		m := r[name]
		if m.kind != kind || !slices.Equal(m.labels, of) {
			t.Errorf("%s: %s is a %s with the labels %q, and elsewhere a %s with %q", at.where(), name, kind, of, m.kind, m.labels)
		}
		m.dirs = append(m.dirs, at.pkg.dir)
	}
}

// joined joins the parts of a name. It returns false if a part is unknown.
func (s scope) joined(parts []ast.Expr) (name string, known bool) {
	var of []string
	for _, part := range parts {
		one, unknown := texts(nil, s.with(part))
		if len(one) != 1 || len(unknown) > 0 {
			return "", false
		}
		of = append(of, one[0])
	}
	return strings.Join(of, "_"), len(of) > 0
}

// labelsOf returns the list of labels in the call that has these options, nil if there is none.
func (p *pkg) labelsOf(options *ast.CompositeLit) ast.Expr {
	for _, calls := range p.calls {
		for _, call := range calls {
			if len(call.node.Args) == 0 {
				continue
			}
			if pointer, ok := call.node.Args[0].(*ast.UnaryExpr); ok && pointer.X == options && len(call.node.Args) > 1 {
				return call.node.Args[1]
			}
		}
	}
	return nil
}

// kindOfValues returns the kind of the values that the package sends when it is scraped.
func (p *pkg) kindOfValues() string {
	kinds := map[string]bool{}
	for _, call := range p.calls["NewLazyConstMetric"] {
		kinds[strings.ToLower(strings.TrimSuffix(nameOf(call.node.Args[1]), "Value"))] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(kinds)), " or ")
}

// of returns the programs that expose the metric.
func (m *metric) of() string {
	whose := map[string]bool{}
	for _, dir := range m.dirs {
		switch {
		case dir == "controller/agent":
			whose["agent"] = true
		case dir == "controller/secrets":
			// Programs of other projects link this package.
			whose["library"] = true
		case dir == "registry/view/inventory":
			// Both programs use this package to view the cluster.
			whose["controller"], whose["serve"] = true, true
		case strings.HasPrefix(dir, "controller/"):
			whose["controller"] = true
		default:
			whose["serve"] = true
		}
	}
	if whose["controller"] && whose["serve"] {
		return "both"
	}
	return strings.Join(slices.Sorted(maps.Keys(whose)), ", ")
}
