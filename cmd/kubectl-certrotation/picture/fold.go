// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"slices"
)

// maxNodes bounds the nodes of a column in SVG, so that a graph stays a picture. DOT and Mermaid have all nodes.
const maxNodes = 14

// fold returns the graph with at most maxNodes nodes in a column. The worst nodes stay, then those that end first. One
// node stands for the others of its column, with the state and the remark of the worst of them, and with their edges.
func (g Graph) fold() Graph {
	out := g
	out.Columns, out.Edges = nil, nil
	renamed := map[string]string{}
	for i, c := range g.Columns {
		if len(c.Nodes) > maxNodes {
			c = c.fold(fmt.Sprintf("more%d", i), renamed)
		}
		out.Columns = append(out.Columns, c)
	}
	seen := map[Edge]bool{}
	for _, e := range g.Edges {
		e.From, e.To = cmp.Or(renamed[e.From], e.From), cmp.Or(renamed[e.To], e.To)
		if !seen[e] {
			seen[e] = true
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}

func (c Column) fold(id string, renamed map[string]string) Column {
	order := make([]int, len(c.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &c.Nodes[a], &c.Nodes[b]
		return cmp.Or(cmp.Compare(y.State.severity(), x.State.severity()), x.Ends.Compare(y.Ends))
	})
	rest := order[maxNodes-1:]
	more := Node{ID: id, Name: fmt.Sprintf("%d more %s", len(rest), c.Noun), State: c.Nodes[rest[0]].State}
	for _, i := range rest {
		renamed[c.Nodes[i].ID] = id
	}
	if worst := c.Nodes[rest[0]]; worst.State.severity() > Good.severity() {
		more.Remark = worst.Remark
	}
	c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return renamed[n.ID] != "" })
	c.Nodes = append(c.Nodes, more)
	return c
}
