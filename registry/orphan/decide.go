// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Grace is how long an object stays after its node or member is first missing.
const Grace = 72 * time.Hour

// heldRecheck is how often to decide again about an object that stays for a reason that may pass without any object
// changing.
const heldRecheck = time.Hour

// Step is what to do with an object.
type Step string

// The steps.
const (
	// Mark sets trust.AnnotationDeleteGraceStart.
	Mark Step = "Mark"
	// Unmark removes trust.AnnotationDeleteGraceStart.
	Unmark Step = "Unmark"
	// Delete deletes the object.
	Delete Step = "Delete"
)

// Decision is one step on one object. UID and ResourceVersion pin the state that it is based on.
type Decision struct {
	Step            Step
	Kind            trust.ObjectKind
	Name            string
	UID             string
	ResourceVersion string
	// Reason is a full clause for events.
	Reason string
}

// Plan lists the decisions that are due now, ordered by kind and name.
type Plan struct {
	Decisions []Decision
	// Recheck is when time alone changes the plan, zero if never.
	Recheck time.Time
}

// Decide returns the plan for a namespace. n is the inventory of its sources s.
func Decide(s *inventory.Sources, n *inventory.Namespace, now time.Time) *Plan {
	d := &decider{sources: s, namespace: n, now: now, plan: &Plan{}, unrests: map[string]bool{}}
	if s == nil || n == nil || !d.effective() {
		return d.plan
	}
	d.templates = templatesOf(s, n)
	for _, name := range slices.Sorted(maps.Keys(s.Secrets)) {
		d.secret(s.Secrets[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Records)) {
		d.record(s.Records[name])
	}
	slices.SortStableFunc(d.plan.Decisions, func(x, y Decision) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	return d.plan
}

type decider struct {
	sources   *inventory.Sources
	namespace *inventory.Namespace
	now       time.Time
	templates []template
	// unrests caches unrest by trust domain.
	unrests map[string]bool
	plan    *Plan
}

// effective reports whether every configuration of the namespace is in effect.
func (d *decider) effective() bool {
	return !slices.ContainsFunc(d.namespace.Problems, func(p trust.Problem) bool {
		return p.Reason == inventory.ReasonInvalidConfiguration || p.Reason == inventory.ReasonConflictingClaim
	})
}

// unrest reports whether nothing of a domain may be deleted now: a rotation is in flight or the clock is not
// reliable. Callers evaluate it only after a grace period.
func (d *decider) unrest(domain *trust.Domain) bool {
	held, known := d.unrests[domain.Name]
	if !known {
		a := trust.Assess(domain, d.now)
		held = a.InFlight() || a.ClockDoubted()
		d.unrests[domain.Name] = held
	}
	return held
}

// gone handles an object whose node or member is missing. It marks the object, and deletes it after the grace period
// unless held returns true.
func (d *decider) gone(kind trust.ObjectKind, meta *metav1.ObjectMeta, what string, held func() bool) {
	start, err := time.Parse(time.RFC3339, meta.Annotations[trust.AnnotationDeleteGraceStart])
	if err != nil {
		d.add(Mark, kind, meta, fmt.Sprintf("%s is missing; the object is deleted in %s unless it comes back", what, Grace))
		return
	}
	if until := start.Add(Grace); d.now.Before(until) {
		d.recheckAt(until)
		return
	}
	if held() {
		d.recheckAt(d.now.Add(heldRecheck))
		return
	}
	d.add(Delete, kind, meta, fmt.Sprintf("%s has been missing since %s", what, start.UTC().Format(time.RFC3339)))
}

// back removes the mark of an object whose node or member exists.
func (d *decider) back(kind trust.ObjectKind, meta *metav1.ObjectMeta) {
	if _, marked := meta.Annotations[trust.AnnotationDeleteGraceStart]; marked {
		d.add(Unmark, kind, meta, "its node or member is back")
	}
}

func (d *decider) add(step Step, kind trust.ObjectKind, meta *metav1.ObjectMeta, reason string) {
	d.plan.Decisions = append(d.plan.Decisions, Decision{
		Step: step, Kind: kind, Name: meta.Name, UID: string(meta.UID), ResourceVersion: meta.ResourceVersion, Reason: reason,
	})
}

func (d *decider) recheckAt(t time.Time) {
	if d.plan.Recheck.IsZero() || t.Before(d.plan.Recheck) {
		d.plan.Recheck = t
	}
}
