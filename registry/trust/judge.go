// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Violation is an invariant that an edit would break.
type Violation struct {
	Invariant Invariant
	// Object that is edited, as Kind/name.
	Object string
	// Affected are the members (by MemberName), leaves (Secret/name) or anchors that would break, ordered.
	Affected []string
	// Message says what would break.
	Message string
	// SafeWay says how to reach the goal of the edit safely.
	SafeWay string
}

// Judge returns the invariants that the edit from before to after breaks. It judges only the difference, so an edit
// of a broken domain is refused only for what it adds. The author does not matter: the controller's own writes follow
// the same rules.
func Judge(before, after *Domain, now time.Time) []Violation {
	j := &judge{before: newAssessor(before, now), now: now}
	j.stage = j.before.stage()
	after = leaving(j.before.d, after)
	j.after = after
	j.judgeObjects()
	j.judgeSigner()
	j.judgeBundle()
	for i := range after.Leaves {
		l := &after.Leaves[i]
		if old := j.before.leaves[l.Name]; old != nil {
			j.judgeLeaf(old, l)
		}
	}
	return j.found
}

type judge struct {
	before *assessor
	after  *Domain
	now    time.Time
	// stage before the edit.
	stage Stage
	found []Violation
}

func (j *judge) inFlight() bool { return j.stage != Stable }

func (j *judge) refuse(i Invariant, object string, affected []string, message, safeWay string) {
	j.found = append(j.found, Violation{Invariant: i, Object: object, Affected: affected, Message: message, SafeWay: safeWay})
}

// judgeContent refuses content that became unreadable, or a key that does not match its certificate.
func (j *judge) judgeContent(object string, before, after *Problem) bool {
	if after == nil {
		return true
	}
	if before != nil && *before == *after {
		return false
	}
	invariant := PairMatches
	if after.Reason == ReasonNotCA {
		invariant = TrustBeforeUse
	}
	j.refuse(invariant, object, nil, after.Message,
		"write certificate and key of one pair in one update, or delete the Secret to have it reissued")
	return false
}

// untrustingNames lists, by MemberName, the members in the blockers.
func untrustingNames(blockers []Blocker) []string {
	var names []string
	for _, b := range blockers {
		if b.Party != "" {
			names = append(names, MemberName(b.Party, b.Member))
		}
	}
	return names
}

// knownTo finds the CA of the domain before the edit that a leaf chains to, directly or by the intermediates in its
// own Secret.
func (j *judge) knownTo(l *Leaf) *pki.Certificate {
	if ca := signerAmong(l.Certificate, j.before.authorities); ca != nil {
		return ca
	}
	for _, link := range j.before.chainOf(l) {
		if slices.ContainsFunc(j.before.authorities, link.ca.Equal) {
			return link.ca
		}
	}
	return nil
}
