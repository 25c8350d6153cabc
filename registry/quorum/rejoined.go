// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"fmt"
	"slices"
)

// Rejoined decides whether the member on a node takes part again after a restart. It must be a voter, serve a
// linearizable read, and see the same leader as the others. It must be connected with every other healthy voter in
// both directions. The readiness of its pod shows none of that.
func Rejoined(o Observation, node string) Verdict {
	m := o.Member(node)
	no := func(format string, args ...any) Verdict {
		return unsafe(ReasonNotRejoined, fmt.Sprintf("the member on %s ", node)+fmt.Sprintf(format, args...))
	}
	switch {
	case m == nil:
		return notAsked(node)
	case o.Problem != "":
		return unsafe(ReasonContradiction, o.Problem)
	case m.Learner && m.Answers: // A learner refuses reads of clients, so it is not healthy either.
		return no("is a learner: promote it")
	case !m.Healthy:
		return no("is not healthy: %s", m.why())
	case !m.Voter || !o.Confirmed:
		return no("is not in the cluster's list of members: add it, or remove its data and have it join anew")
	case m.Leader == 0 || m.Leader != o.Leader:
		return no("does not see the same leader as the others; an election may be going on")
	}
	for _, other := range healthy(o.others(m)) {
		if !slices.Contains(m.Connected, other.MemberID) {
			return no("is not connected with %s: check the network and its peer certificate%s", other.display(), failureOf(m))
		}
		if !slices.Contains(other.Connected, m.MemberID) {
			return no("is not reached by %s: check the network and their trust in its peer certificate%s", other.display(), failureOf(other))
		}
	}
	return safe(ReasonRejoined, fmt.Sprintf("a linearizable read through the member on %s succeeds", node))
}

// notAsked is the verdict about a node that is missing in the observation.
func notAsked(node string) Verdict {
	return unsafe(ReasonStateUnknown, fmt.Sprintf("%s was not asked; look again", node))
}
