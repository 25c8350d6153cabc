// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import "io"

// Report is a page about trust domains.
type Report struct {
	// Scope says which trust domains are shown.
	Scope, Cluster, Time, Version string
	Domains                       []Section
}

// Section is about one trust domain.
type Section struct {
	Name       string
	Stage      string
	StageState State
	Blockers   []Blocker
	// NextExpiry is when the first certificate ends.
	NextExpiry Badge
	Graph      Graph
	Timelines  []Timeline
	Members    []Member
	Plan       Plan
}

// Badge is a text in the colour of a state.
type Badge struct {
	Text  string
	State State
}

// Blocker is what a rotation waits for.
type Blocker struct {
	Subject, Message, Since string
}

// Member of a relying party.
type Member struct {
	Party, Name, Evidence string
	Trusts, Presents      Badge
	Changed, Remarks      string
}

// Plan is what a rotation would do, or a note why that is not known.
type Plan struct {
	Note     string
	Hash     string
	Steps    []Step
	Blockers []Blocker
}

// Step of a plan.
type Step struct {
	Stage, Action, Object, WaitsFor, Message string
}

// WriteHTML writes the report as one page.
func (r *Report) WriteHTML(w io.Writer) error {
	templates, err := parse()
	if err != nil {
		return err
	}
	return templates.ExecuteTemplate(w, "report", r)
}
