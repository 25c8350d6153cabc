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
	// Managed says that the Namespace of the source is managed.
	Managed bool
	// Domain whose bundle the source is, nil if there is none that takes effect.
	Domain *trust.Domain
}

// Refusal says why the target may not have the bundle and what to do, "" if it may. What is none of our business is refused
// without a reason for people.
func (r *Request) Refusal() (why string, ours bool) {
	s := &r.Source
	switch {
	case !r.Managed:
		return fmt.Sprintf("namespace %s does not have the label %s=%s", s.Namespace, trust.LabelManaged, trust.ManagedValue), !s.Borrowed
	case r.Domain == nil:
		return fmt.Sprintf("ConfigMap/%s is the bundle of no trust domain that takes effect in namespace %s", s.ConfigMap, s.Namespace), !s.Borrowed
	case !slices.Contains(r.Domain.Bundle.InjectInto, r.Target):
		return fmt.Sprintf("RotationConfiguration/%s in namespace %s does not agree; whoever owns it does so by adding {kind: %s, name: %s} to bundle.injectInto of the trust domain %s",
			r.Domain.Configuration, s.Namespace, r.Target.Kind, r.Target.Name, r.Domain.Name), true
	}
	return "", true
}

// Assessment says what a target has to hold that may have the bundle.
type Assessment struct {
	// Blockers say why it has to stay as it is; empty if it may be written.
	Blockers []trust.Blocker
	// Anchors that each entry has to hold, in the order of the entries.
	Anchors [][]*pki.Certificate
	// Kept are anchors that an entry does not lose though the bundle has.
	Kept []trust.KeptAnchor
	// Outdated says whether an entry does not hold what it has to.
	Outdated bool
	// Recheck is the next moment at which time alone changes the assessment, zero if never.
	Recheck time.Time
}

// Assess says what the entries of a target have to hold. Whoever calls the servers of the domain by a caBundle takes part in
// the protocol as whoever reads a copy of the bundle does, so the same rule decides.
func Assess(d *trust.Domain, entries []Entry, now time.Time) *Assessment {
	out := &Assessment{}
	for i := range entries {
		a := trust.AssessBundleCopy(d, entries[i].Anchors, now)
		if len(a.Blockers) > 0 {
			return &Assessment{Blockers: a.Blockers, Recheck: a.Recheck}
		}
		out.Anchors = append(out.Anchors, a.Anchors)
		out.Kept = append(out.Kept, a.Kept...)
		out.Outdated = out.Outdated || entries[i].Fault != "" || !sameAnchors(entries[i].Anchors, a.Anchors)
		if !a.Recheck.IsZero() && (out.Recheck.IsZero() || a.Recheck.Before(out.Recheck)) {
			out.Recheck = a.Recheck
		}
	}
	return out
}

// sameAnchors goes by content: their order says nothing to a verifier.
func sameAnchors(a, b []*pki.Certificate) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(anchor *pki.Certificate) bool {
		return !slices.ContainsFunc(b, anchor.Equal)
	})
}
