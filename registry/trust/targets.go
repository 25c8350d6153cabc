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

// Member is the name of the target as a member of a party with the evidence CABundle: KIND.NAME. No kind has a dot, so the
// first one says where the name begins, and none has the form of a node, a pod or a leaf.
func (t InjectionTarget) Member() string { return t.Kind + "." + t.Name }

// String is the target as other objects are named: Kind/name.
func (t InjectionTarget) String() string { return t.Kind + "/" + t.Name }

// TargetOf is the target that is a member of that name.
func TargetOf(member string) (_ InjectionTarget, ok bool) {
	kind, name, ok := strings.Cut(member, ".")
	return InjectionTarget{Kind: kind, Name: name}, ok && kind != "" && name != ""
}

// HeldSince says since when a target of a domain holds all anchors of a look, to be recorded. What it lost meanwhile changes nothing;
// what it gained it has had from this look on. So does it where nothing is known of before, or that has ended: it may have lost all for a while.
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

// settled says whether what a target was seen to hold is in use. Nothing shows when each kube-apiserver has begun to verify by
// it, so some time is waited for: the operator's word.
func (a *assessor) settled(p *Party, o *Observation, ca *pki.Certificate) proof {
	if o.StartedAt.IsZero() {
		return proof{reason: ReasonNotObserved, message: "is not known to hold its anchors since any time: it is looked at again"}
	}
	return a.waitsFor(p, o.StartedAt, "holds "+ca.Subject+", and every kube-apiserver is assumed to verify by it from ", " on")
}

// AbsentTarget is the proof that a target of the roster is gone, "" if there is none. Nobody is verified by an object that does
// not exist. One that is only left out of the configuration keeps the anchors that it has, and kube-apiserver goes on to verify
// by them.
func AbsentTarget(m *RosterMember, exists bool) string {
	target, ok := TargetOf(m.Member)
	if !ok || exists {
		return ""
	}
	return fmt.Sprintf("no %s is called %s", target.Kind, target.Name)
}
