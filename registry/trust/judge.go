// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"
)

// Violation is an invariant that an edit would break.
type Violation struct {
	Invariant Invariant
	// Object that is edited, as Kind/name.
	Object string
	// Affected are the parties (party/member), leaves (Secret/name) or anchors that would break, ordered.
	Affected []string
	// Message says what would break.
	Message string
	// SafeWay says how to get what the person wanted.
	SafeWay string
}

// Judge says which invariants the edit from before to after breaks. Only what differs between the two is judged, so an
// edit of a domain that is already broken is refused only for what it adds.
func Judge(before, after *Domain, now time.Time) []Violation {
	return nil
}
