// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteMermaid writes graphs for Mermaid, which Markdown of many forges can embed.
func WriteMermaid(w io.Writer, graphs []Graph) error {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	edge := 0
	styled := map[State][]string{}
	for i := range graphs {
		g := &graphs[i]
		fmt.Fprintf(&out, "  subgraph g%d[%s]\n    direction LR\n", i, mermaidText(g.Title+", "+g.Remark))
		for k, c := range g.Columns {
			fmt.Fprintf(&out, "    subgraph g%d_c%d[%s]\n", i, k, mermaidText(c.Title))
			for _, n := range c.Nodes {
				fmt.Fprintf(&out, "      g%d_%s[%s]:::%s\n", i, n.ID, mermaidText(n.Name, n.Remark), n.State)
			}
			out.WriteString("    end\n")
		}
		for _, e := range g.Edges {
			fmt.Fprintf(&out, "    g%d_%s %s|%s| g%d_%s\n", i, e.From, arrow(e.State), mermaidText(e.Label), i, e.To)
			styled[e.State] = append(styled[e.State], fmt.Sprint(edge))
			edge++
		}
		out.WriteString("  end\n")
	}
	for _, state := range states {
		fmt.Fprintf(&out, "  classDef %s stroke:%s,stroke-width:2px\n", state, colours[state])
	}
	for _, state := range states {
		if edges := styled[state]; len(edges) > 0 {
			fmt.Fprintf(&out, "  linkStyle %s stroke:%s\n", strings.Join(edges, ","), colours[state])
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// arrow is dotted for edges that are not as they should be: Mermaid has no dashed one.
func arrow(state State) string {
	if state.severity() > Good.severity() {
		return "-.->"
	}
	return "-->"
}

// mermaidText quotes the lines of a label. Mermaid gives a meaning to many characters, also in quotes, and its rules
// changed over time: all but letters, digits and a few others are numeric entities.
func mermaidText(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		if line == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("<br/>")
		}
		for _, r := range visible(line) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ,./=@_-", r) {
				out.WriteRune(r)
				continue
			}
			fmt.Fprintf(&out, "#%d;", r)
		}
	}
	return `"` + out.String() + `"`
}
