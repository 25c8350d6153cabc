// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"io"
	"strings"
)

// colours of states in DOT and Mermaid. The style sheet has those of SVG and HTML.
var colours = map[State]string{Plain: "#6b7682", Good: "#1a7f4b", Unknown: "#6b7682", Warn: "#9a6700", Bad: "#b3261e"}

// strokes are the line styles of states, so that a picture can be read without colours.
var strokes = map[State]string{Plain: "solid", Good: "solid", Unknown: "dotted", Warn: "dotted", Bad: "dashed"}

// WriteDOT writes graphs for Graphviz.
func WriteDOT(w io.Writer, graphs []Graph) error {
	var out strings.Builder
	out.WriteString("digraph certrotation {\n  rankdir=LR;\n  fontname=\"Helvetica\";\n")
	out.WriteString("  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n  edge [fontname=\"Helvetica\", fontsize=10];\n")
	for i := range graphs {
		g := &graphs[i]
		fmt.Fprintf(&out, "  subgraph cluster_%d {\n    label=%s;\n", i, dotText(g.Title, g.Remark))
		column := map[string]int{}
		for k, c := range g.Columns {
			fmt.Fprintf(&out, "    subgraph cluster_%d_%d {\n      label=%s;\n      color=%q;\n", i, k, dotText(c.Title), "#d5dae0")
			for _, n := range c.Nodes {
				column[n.ID] = k
				fmt.Fprintf(&out, "      g%d_%s [label=%s, color=%q];\n", i, n.ID, dotText(n.Name, n.Remark), colours[n.State])
			}
			out.WriteString("    }\n")
		}
		for _, e := range g.Edges {
			// Graphviz puts the head on the right: an edge to the left is drawn the other way round.
			direction := "forward"
			if column[e.From] > column[e.To] {
				e.From, e.To, direction = e.To, e.From, "back"
			}
			fmt.Fprintf(&out, "    g%d_%s -> g%d_%s [dir=%s, label=%s, color=%q, style=%s];\n",
				i, e.From, i, e.To, direction, dotText(e.Label), colours[e.State], strokes[e.State])
		}
		out.WriteString("  }\n")
	}
	out.WriteString("}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// dotEscapes are what a quoted string of DOT interprets: quotes, escapes such as \N for the name, and HTML entities.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")

// dotText quotes the lines of a label.
func dotText(lines ...string) string {
	var escaped []string
	for _, line := range lines {
		if line != "" {
			escaped = append(escaped, dotEscapes.Replace(visible(line)))
		}
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
