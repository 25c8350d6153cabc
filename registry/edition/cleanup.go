// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Run is what one reconciliation has asked for, and what there is, for the decision what may go.
type Run struct {
	// Editions are all of this identity, bundles too.
	Editions []*Edition
	// Asked are the objects that this run has asked for, with what each is for it.
	Asked map[types.NamespacedName]string
	// Named are the names that this run has asked for, and Loaded those that it has only read.
	Named, Loaded map[string]bool
	// Incomplete says why this run may not have named everything, "" if it has.
	Incomplete string
	// Users are pods, by the objects that they use.
	Users map[types.NamespacedName][]string
	Now   time.Time
}

// Cleanup says of each edition whether it is kept or deleted, and why.
func (r *Run) Cleanup() Plan {
	kept := map[types.NamespacedName]string{}
	for _, e := range r.Editions {
		if why := r.keeps(e); why != "" {
			kept[e.NamespacedName] = why
		}
	}
	// A leaf that stays has its signer stay, which may be signed by another one.
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

// keeps says why an edition has to stay whatever becomes of the others, "" if it need not.
func (r *Run) keeps(e *Edition) string {
	users := r.Users[e.NamespacedName]
	switch {
	case r.Asked[e.NamespacedName] != "":
		return r.Asked[e.NamespacedName]
	case e.Configuration != "":
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

// leafOf is a leaf that stays and has not expired, and that this authority has signed.
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

// maxNamed bounds how many are named in a text.
const maxNamed = 3

// few names the first ones.
func few(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
