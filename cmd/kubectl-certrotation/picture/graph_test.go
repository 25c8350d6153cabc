// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostileTexts try to leave the place that a format has for them.
var hostileTexts = []string{
	`"]; evil [label="x`,
	`\`, `\"`, `x\N\G\l`, "two\nlines", "a\r\nb", "nul\x00bell\x07escape\x1b[2J", "\u202eright to left", "\ufffe\xff\xfe",
	`<script>alert(1)</script>`, `]]><!--`, `</svg></title></style>`, `&lt;&quot;&#34;`, `x" onload="alert(1)`,
	`"]:::bad click g0_a href "https://evil.example"`, "%%{init: {'securityLevel': 'loose'}}%%",
	"`md`", "#quot;#35;", "end", "subgraph x", "|x|",
	"; rm -rf", "{{.}}", "<b>x</b><br/>", "證明書 ñ é",
}

func graphOf(text string) Graph {
	return Graph{
		Title: text, Remark: text,
		Columns: []Column{
			{Title: text, Noun: "CAs", Nodes: []Node{{ID: "a", Name: text, Remark: text, State: Bad}}},
			{Title: text, Noun: "leaves", Nodes: []Node{{ID: "b", Name: text, State: Good}}},
		},
		Edges: []Edge{{From: "b", To: "a", Label: "trusts", State: Warn}},
	}
}

// TestHostileTexts: whatever a text is, a drawing in a language of lines has the lines and the form of a harmless one.
func TestHostileTexts(t *testing.T) {
	const colour, quoted = `"#[0-9a-f]{6}"`, `"(?:[^"\\&\p{C}]|\\[\\n"]|&amp;)*"`
	const plain = `"(?:[\p{L}\p{N} ,./=@_-]|#[0-9]+;|<br/>)*"`
	tests := []struct {
		name  string
		write func(io.Writer, []Graph) error
		lines []string
	}{
		{name: "DOT", write: WriteDOT, lines: []string{
			`digraph certrotation \{`, `  rankdir=LR;`, `  fontname="Helvetica";`, `  node \[.*\];`, `  edge \[.*\];`,
			`  subgraph cluster_0 \{`, `    label=` + quoted + `;`,
			`    subgraph cluster_0_0 \{`, `      label=` + quoted + `;`, `      color=` + colour + `;`,
			`      g0_a \[label=` + quoted + `, color=` + colour + `\];`, `    \}`,
			`    subgraph cluster_0_1 \{`, `      label=` + quoted + `;`, `      color=` + colour + `;`,
			`      g0_b \[label=` + quoted + `, color=` + colour + `\];`, `    \}`,
			`    g0_a -> g0_b \[dir=back, label="trusts", color=` + colour + `, style=dotted\];`, `  \}`, `\}`,
		}},
		{name: "Mermaid", write: WriteMermaid, lines: []string{
			`flowchart LR`, `  subgraph g0\[` + plain + `\]`, `    direction LR`,
			`    subgraph g0_c0\[` + plain + `\]`, `      g0_a\[` + plain + `\]:::bad`, `    end`,
			`    subgraph g0_c1\[` + plain + `\]`, `      g0_b\[` + plain + `\]:::good`, `    end`,
			`    g0_b -\.->\|"trusts"\| g0_a`, `  end`,
			`  classDef plain .*`, `  classDef good .*`, `  classDef unknown .*`, `  classDef warn .*`, `  classDef bad .*`,
			`  linkStyle 0 stroke:#9a6700`,
		}},
	}
	for _, tt := range tests {
		want := regexp.MustCompile(`^` + strings.Join(tt.lines, `\n`) + `\n$`)
		for _, text := range hostileTexts {
			t.Run(fmt.Sprintf("%s of %q", tt.name, text), func(t *testing.T) {
				var out strings.Builder
				if err := tt.write(&out, []Graph{graphOf(text)}); err != nil {
					t.Fatal(err)
				}
				if !want.MatchString(out.String()) {
					t.Errorf("it has another form:\n%s", out.String())
				}
			})
		}
	}
}

// TestHostileSVG: whatever a text is, the drawing is well-formed, has the elements of a harmless one, and says the text.
func TestHostileSVG(t *testing.T) {
	harmless, _ := parseSVG(t, "harmless")
	for _, text := range hostileTexts {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			elements, texts := parseSVG(t, text)
			if diff := cmp.Diff(harmless, elements); diff != "" {
				t.Errorf("its elements (-harmless +hostile):\n%s", diff)
			}
			if want := visible(text); !slices.Contains(texts, want) {
				t.Errorf("it does not say %q but %q", want, texts)
			}
		})
	}
}

// parseSVG draws a graph of a text, and returns the elements with their attributes' names, and the texts.
func parseSVG(t *testing.T, text string) (elements, texts []string) {
	t.Helper()
	var out strings.Builder
	if err := WriteSVG(&out, []Graph{graphOf(text)}); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(out.String()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements, texts
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, out.String())
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			for _, a := range token.Attr {
				name += " " + a.Name.Local
			}
			elements = append(elements, name)
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
}

func TestFold(t *testing.T) {
	column := Column{Title: "Leaves", Noun: "leaves"}
	g := Graph{Columns: []Column{{Title: "Signer", Nodes: []Node{{ID: "ca"}}}}}
	for i := range 20 {
		n := Node{ID: fmt.Sprintf("leaf%d", i), Name: fmt.Sprint(i), Remark: "fine", State: Plain, Ends: now.AddDate(0, 0, 100-i)}
		if i >= 18 {
			n.State, n.Remark = Bad, "expired"
		}
		column.Nodes = append(column.Nodes, n)
		g.Edges = append(g.Edges, Edge{From: "ca", To: n.ID, Label: "signs", State: Plain})
	}
	g.Columns = append(g.Columns, column)
	folded := g.fold()
	names := []string{}
	for _, n := range folded.Columns[1].Nodes {
		names = append(names, n.Name)
	}
	want := []string{"7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "7 more leaves"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("its leaves (-want +got):\n%s", diff)
	}
	toRest := func(e Edge) bool { return e.To == folded.Columns[1].Nodes[13].ID }
	if len(folded.Edges) != len(want) || !slices.ContainsFunc(folded.Edges, toRest) {
		t.Errorf("its edges are %v", folded.Edges)
	}
	if len(g.Columns[1].Nodes) != 20 || len(g.Edges) != 20 || g.Edges[19].To != "leaf19" {
		t.Error("it has changed the graph itself")
	}
	for i := range column.Nodes {
		g.Columns[1].Nodes[i].State, g.Columns[1].Nodes[i].Remark = Bad, "expired"
	}
	if rest := g.fold().Columns[1].Nodes[13]; rest.State != Bad || rest.Remark != "expired" {
		t.Errorf("the node for the rest is %+v, want it to say that some have expired", rest)
	}
}

func TestFit(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{name: "short", text: "service-server", want: "service-server"},
		{name: "long", text: strings.Repeat("service-client-", 5) + "a", want: "service-cli…e-client-a"},
		{name: "wide characters", text: strings.Repeat("證", 40), want: "證證證證證證…證證證證證"},
		{name: "control characters", text: "a\x1b\nb", want: "a\ufffd\ufffdb"},
		{name: "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fit(tt.text, nameSize, 160)
			if got != tt.want || width(got, nameSize) > 160 {
				t.Errorf("fit = %q with the width %.0f, want %q", got, width(got, nameSize), tt.want)
			}
		})
	}
}
