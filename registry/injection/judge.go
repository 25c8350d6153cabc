// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Request is a target that asks for a bundle.
type Request struct {
	Target trust.InjectionTarget
	Source Source
	// Managed means that the Namespace of the source is managed.
	Managed bool
	// Domain whose bundle the source is, nil if there is none that takes effect.
	Domain *trust.Domain
}

// Refusal returns why the target may not have the bundle and what to do, "" if it may. If ours is false, the refusal
// is not our business and needs no message to users.
func (r *Request) Refusal() (why string, ours bool) {
	s := &r.Source
	switch {
	case !r.Managed:
		return fmt.Sprintf("namespace %s does not have the label %s=%s", s.Namespace, trust.LabelManaged, trust.ManagedValue), !s.Borrowed
	case r.Domain == nil:
		return fmt.Sprintf("ConfigMap/%s is the bundle of no trust domain that takes effect in namespace %s", s.ConfigMap, s.Namespace), !s.Borrowed
	case !slices.Contains(r.Domain.Bundle.InjectInto, r.Target):
		return fmt.Sprintf("RotationConfiguration/%s in namespace %s does not agree; its owner does so by adding {kind: %s, name: %s} to bundle.injectInto of the trust domain %s",
			r.Domain.Configuration, s.Namespace, r.Target.Kind, r.Target.Name, r.Domain.Name), true
	}
	return "", true
}

// Assessment says what a permitted target must hold.
type Assessment struct {
	// Blockers say why the target must stay as it is; empty if it may be written.
	Blockers []trust.Blocker
	// Anchors that each entry must hold, in the order of the entries.
	Anchors [][]*pki.Certificate
	// Kept are anchors that an entry keeps although the bundle has lost them.
	Kept []trust.KeptAnchor
	// Outdated means that an entry is unreadable or does not hold its required anchors.
	Outdated bool
	// Recheck is the next time at which the passage of time alone changes the assessment, zero if never.
	Recheck time.Time
}

// Assess decides what the entries of a target must hold. A client that verifies by a caBundle is in the protocol like
// a reader of a copy of the bundle, so the same rule decides.
func Assess(d *trust.Domain, entries []Entry, now time.Time) *Assessment {
	out := &Assessment{}
	for i := range entries {
		a := trust.AssessBundleCopy(d, entries[i].Anchors, now)
		if len(a.Blockers) > 0 {
			return &Assessment{Blockers: a.Blockers, Recheck: a.Recheck}
		}
		out.Anchors = append(out.Anchors, a.Anchors)
		out.Kept = append(out.Kept, a.Kept...)
		out.Outdated = out.Outdated || entries[i].Fault != "" || entries[i].Repeats || !sameAnchors(entries[i].Anchors, a.Anchors)
		if !a.Recheck.IsZero() && (out.Recheck.IsZero() || a.Recheck.Before(out.Recheck)) {
			out.Recheck = a.Recheck
		}
	}
	return out
}

// sameAnchors compares by content: their order means nothing to a verifier.
func sameAnchors(a, b []*pki.Certificate) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(anchor *pki.Certificate) bool {
		return !slices.ContainsFunc(b, anchor.Equal)
	})
}
