// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// State says how something is, and thereby its colour.
type State string

// States, from the best to the worst. Plain is for what is neither good nor bad.
const (
	Plain   State = "plain"
	Good    State = "good"
	Unknown State = "unknown"
	Warn    State = "warn"
	Bad     State = "bad"
)

var states = []State{Plain, Good, Unknown, Warn, Bad}

// severity orders states: the worst has the highest.
func (s State) severity() int { return slices.Index(states, s) }

// Graph is one trust domain: columns of nodes, and edges between nodes of neighbouring columns.
type Graph struct {
	Title string
	// Remark is about the graph as a whole, such as the stage of a rotation.
	Remark  string
	Columns []Column
	Edges   []Edge
}

// Column of a graph. Its nodes are of one kind.
type Column struct {
	Title string
	// Noun names many of its nodes, such as leaves.
	Noun  string
	Nodes []Node
}

// Node of a graph.
type Node struct {
	// ID is unique in the graph, and has lower-case letters and digits only.
	ID     string
	Name   string
	Remark string
	State  State
	// Ends is when a certificate ends, zero for other nodes. It decides which nodes a picture without room for all has.
	Ends time.Time
}

// Edge of a graph. Its state also decides how it is drawn: Unknown and Warn are dotted, Bad is dashed.
type Edge struct {
	// From and To are IDs of nodes.
	From, To string
	// Label is a fixed text.
	Label string
	State State
}

// visible replaces the characters that would not be drawn, or that change how others are drawn.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}
