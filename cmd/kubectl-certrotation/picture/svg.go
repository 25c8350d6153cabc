// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"embed"
	"html/template"
	"io"
)

//go:embed templates
var files embed.FS

// functions of the templates.
var functions = template.FuncMap{
	"visible": visible, "layout": Graph.layout, "ticks": Timeline.ticks, "strips": Timeline.strips, "nowAt": Timeline.nowAt,
}

// parse reads the templates. They are a part of the program, and tests execute them all.
func parse() (*template.Template, error) {
	return template.New("picture").Funcs(functions).ParseFS(files, "templates/*")
}

// document is one SVG with several graphs, one below the other.
type document struct {
	Width, Height int
	Graphs        []placedGraph
}

type placedGraph struct {
	drawing

	Title, Remark string
	// Top is where the title begins, and Below where the drawing does.
	Top, Below int
}

// WriteSVG writes graphs as one SVG document.
func WriteSVG(w io.Writer, graphs []Graph) error {
	const heading, gap = 44, 24
	doc := document{Height: margin}
	for i := range graphs {
		g := &graphs[i]
		placed := placedGraph{drawing: g.layout(), Title: g.Title, Remark: g.Remark, Top: doc.Height + 20, Below: doc.Height + heading}
		placed.Title = fit(g.Title, 18, placed.Width-2*margin)
		placed.Remark = fit(g.Remark, nameSize, placed.Width-2*margin)
		doc.Width = max(doc.Width, placed.Width)
		doc.Height += heading + placed.drawing.Height + gap
		doc.Graphs = append(doc.Graphs, placed)
	}
	templates, err := parse()
	if err != nil {
		return err
	}
	return templates.ExecuteTemplate(w, "document", doc)
}
