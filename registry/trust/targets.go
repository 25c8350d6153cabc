// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Member is the name of the target as a member of a party with the evidence kind CABundle: KIND.NAME. No kind has a
// dot, so the name begins after the first one. No node, pod or leaf has such a name.
func (t InjectionTarget) Member() string { return t.Kind + "." + t.Name }

// String returns the target as other objects are named: Kind/name.
func (t InjectionTarget) String() string { return t.Kind + "/" + t.Name }

// TargetOf parses the member name of a target.
func TargetOf(member string) (_ InjectionTarget, ok bool) {
	kind, name, ok := strings.Cut(member, ".")
	return InjectionTarget{Kind: kind, Name: name}, ok && kind != "" && name != ""
}

// HeldSince returns since when a target holds all the anchors observed now, to be recorded. Anchors that it lost do
// not matter. Anchors that it gained count from now. All count from now if the earlier observation is missing or has
// ended: the target may have lost them for a while.
func HeldSince(d *Domain, before *Observation, anchors []pki.Fingerprint, now time.Time) time.Time {
	from := d.Recorded(now)
	if before == nil || before.Failure != "" || before.StartedAt.IsZero() || before.StartedAt.After(from) || !before.Expires.After(now) {
		return from
	}
	if slices.ContainsFunc(anchors, func(f pki.Fingerprint) bool { return !slices.Contains(before.Trusts, f) }) {
		return from
	}
	return before.StartedAt
}

// settled returns whether what a target holds is in use. Nothing shows when each kube-apiserver starts to verify by
// it. So it waits for the grace, which is the operator's assumption.
func (a *assessor) settled(p *Party, o *Observation, ca *pki.Certificate) proof {
	if o.StartedAt.IsZero() {
		return proof{reason: ReasonNotObserved, message: "is not known to hold its anchors since any time: it is looked at again"}
	}
	return a.waitsFor(p, o.StartedAt, "holds "+ca.Subject+", and every kube-apiserver is assumed to verify by it from ", " on")
}

// AbsentTarget returns the proof that a target of the roster is gone, "" if there is none. Nothing verifies by an
// object that does not exist. An object that only left the configuration keeps its anchors, and kube-apiserver still
// verifies by them.
func AbsentTarget(m *RosterMember, exists bool) string {
	target, ok := TargetOf(m.Member)
	if !ok || exists {
		return ""
	}
	return fmt.Sprintf("no %s is called %s", target.Kind, target.Name)
}
