// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Run is the input of Cleanup: what one reconciliation has asked for, and what exists.
type Run struct {
	// Editions are all editions of this identity, including bundles.
	Editions []*Edition
	// Asked are the objects that this run has asked for, each with the reason to keep it.
	Asked map[types.NamespacedName]string
	// Named are the names that this run has asked for; Loaded are those that it has only read.
	Named, Loaded map[string]bool
	// Configuration is the RotationConfiguration that the editions of this run consent to, "" for none. It guards them
	// itself.
	Configuration string
	// Incomplete says why this run may not have named everything, "" if it has.
	Incomplete string
	// Users are pods, by the objects that they use.
	Users map[types.NamespacedName][]string
	Now   time.Time
}

// Cleanup decides for each edition whether to keep or delete it, and why.
func (r *Run) Cleanup() Plan {
	kept := map[types.NamespacedName]string{}
	for _, e := range r.Editions {
		if why := r.keeps(e); why != "" {
			kept[e.NamespacedName] = why
		}
	}
	// A kept leaf keeps its signer, which another authority may have signed in turn.
	for again := true; again; {
		again = false
		for _, e := range r.Editions {
			if kept[e.NamespacedName] != "" {
				continue
			}
			if leaf := r.leafOf(e, kept); leaf != nil {
				kept[e.NamespacedName] = "it has signed " + leaf.String() + ", which stays"
				again = true
			}
		}
	}
	plan := make(Plan, 0, len(r.Editions))
	for _, e := range r.Editions {
		step := Step{Action: Keep, Name: e.name(), Object: e.NamespacedName, Reason: kept[e.NamespacedName]}
		if step.Reason == "" {
			step.Action, step.Reason = Delete, r.whyDelete(e)
		}
		plan = append(plan, step)
	}
	return plan.Sorted()
}

// keeps returns why an edition must stay independently of the others, "" if it need not.
func (r *Run) keeps(e *Edition) string {
	users := r.Users[e.NamespacedName]
	switch {
	case r.Asked[e.NamespacedName] != "":
		return r.Asked[e.NamespacedName]
	case e.Configuration != "" && e.Configuration != r.Configuration:
		return fmt.Sprintf("RotationConfiguration/%s uses it", e.Configuration)
	case r.Loaded[e.about()] && !r.Named[e.about()]:
		return "this run has signed with " + e.about() + ", and not asked for it"
	case r.Incomplete != "" && !r.Named[e.about()]:
		return "this run has not asked for it, and is not complete: " + r.Incomplete
	case len(users) > 0:
		return "it is in use by " + few(users)
	}
	return ""
}

// leafOf returns a kept, unexpired leaf that this authority has signed.
func (r *Run) leafOf(e *Edition, kept map[types.NamespacedName]string) *Edition {
	for _, leaf := range r.Editions {
		if kept[leaf.NamespacedName] != "" && !leaf.Expired(r.Now) && e.Signed(leaf) {
			return leaf
		}
	}
	return nil
}

func (r *Run) whyDelete(e *Edition) string {
	if r.Named[e.about()] {
		return "another edition has replaced it, and nothing uses it"
	}
	return "no configuration asks for it any more, and nothing uses it"
}

const maxNamed = 3

func few(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
