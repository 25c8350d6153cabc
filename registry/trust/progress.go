// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// stage derives the stage of the rotation from content alone.
func (a *assessor) stage() Stage {
	s := &a.d.Signer
	switch {
	case s.Next != nil:
		if a.liveUnder(s.Next) > 0 {
			return Reissuing
		}
		return Distributing
	case s.Active == nil:
		if a.anyLive() {
			return Distributing
		}
		return Stable
	case a.unproven():
		return Distributing
	case a.leavesBehind():
		return Reissuing
	case len(a.former())+len(s.Previous) == 0:
		return Stable
	}
	for _, ca := range a.former() {
		if len(a.neededBy(ca)) > 0 {
			return Draining
		}
	}
	return Retiring
}

// unproven reports whether the active CA was put in its place before any member trusts it. An operator or an issuer
// that replaces a CA in one write does that.
func (a *assessor) unproven() bool {
	s := &a.d.Signer
	if a.lives == 0 || a.borneBy(s.Active) > 0 {
		return false
	}
	return !a.inBundle[s.Active.Fingerprint] || len(a.waitsForAll(s.Active)) > 0
}

// leavesBehind reports whether the signer of a leaf is still a CA other than the active one.
func (a *assessor) leavesBehind() bool {
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Certificate != nil && !same(a.signers[l.Name], a.d.Signer.Active) && (a.live(l) || !l.Unnamed) {
			return true
		}
	}
	return false
}

// stageSince derives when a stage began from the certificates, zero where they do not tell.
func (a *assessor) stageSince(stage Stage) time.Time {
	s := &a.d.Signer
	switch stage {
	case Distributing, Reissuing:
		newest := a.newest()
		if newest == nil {
			return time.Time{}
		}
		since := newest.NotBefore.Add(s.Policy.Profile.Backdate)
		if promoted := a.promotedAt(); stage == Reissuing && s.Next == nil && promoted.After(since) {
			return promoted
		}
		return since
	case Draining, Retiring:
		return a.latestIssue()
	case Stable:
	}
	return time.Time{}
}

// stageTimes returns when a stage began, and when it counts as overdue, zero for Stable and where the content does
// not tell.
func (a *assessor) stageTimes(stage Stage) (since, deadline time.Time) {
	if since = a.stageSince(stage); !since.IsZero() && a.d.StageDeadline > 0 {
		deadline = since.Add(a.d.StageDeadline)
	}
	return since, deadline
}

func (a *assessor) latestIssue() time.Time {
	var latest time.Time
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; l.Certificate != nil && l.issuedAt().After(latest) {
			latest = l.issuedAt()
		}
	}
	return latest
}

// blockers lists what the rotation waits for, each once.
func (a *assessor) blockers(out *Assessment, turn *turn) []Blocker {
	var all []Blocker
	s := &a.d.Signer
	switch out.Stage {
	case Distributing, Reissuing:
		if out.Newest != nil && (s.Next != nil || out.Stage == Distributing) {
			all = append(all, a.waitsForAll(out.Newest)...)
		}
	case Draining:
		for _, ca := range a.former() {
			all = append(all, a.undeliveringOf(ca)...)
			all = append(all, a.waitsForTwin(ca)...)
		}
		if until := a.drainsUntil(); until.After(a.now) {
			all = append(all, Blocker{
				Object: secret(s.Name), Reason: ReasonGracePeriod,
				Message: "leaves that no Secret holds may still be those of the former CA until " + until.UTC().Format(time.RFC3339),
			})
		}
	case Retiring, Stable:
	}
	for i := range out.Leaves {
		all = append(all, out.Leaves[i].Waiting...)
	}
	if out.InFlight() || a.wanted() != "" {
		for _, p := range out.Problems {
			if p.blocks() {
				all = append(all, Blocker{Object: p.Object, Reason: ReasonObjectProblem, Message: p.Message})
			}
		}
	}
	if turn.waiting > 0 && len(turn.actions) == 0 {
		all = append(all, Blocker{
			Object: secret(s.Name), Reason: ReasonPaced,
			Message: fmt.Sprintf("%d leaves wait for their turn: at most %d are reissued in a minute", turn.waiting, a.d.ReissuePerMinute),
		})
	}
	all = append(all, a.refusedWrites()...)
	if s.Next != nil && a.abortRequest() != nil {
		all = append(all, Blocker{
			Object: secret(s.Name), Reason: ReasonAbortTooLate,
			Message: "an abort was requested, but a leaf is signed by the new CA already, or the old one has expired: let the rotation end, then rotate again",
		})
	}
	if a.rotateRequest(&s.Object) != nil && out.InFlight() {
		all = append(all, Blocker{
			Object: secret(s.Name), Reason: ReasonRotationQueued,
			Message: "another rotation was requested; it starts when this one has ended",
		})
	}
	return distinct(all)
}

// renewedWithItsKey returns the anchor that a probe cannot tell from the active CA, nil if there is none.
func (a *assessor) renewedWithItsKey() *pki.Certificate {
	if i := slices.IndexFunc(a.d.Bundle.Anchors, a.inseparable); i >= 0 {
		return a.d.Bundle.Anchors[i]
	}
	return nil
}

// wanted says why the signer itself must be replaced, "" if it need not be.
func (a *assessor) wanted() string {
	s, twin := &a.d.Signer, a.renewedWithItsKey()
	switch {
	case s.Active == nil:
		return ""
	case a.rotationRequested(&s.Object):
		return "its rotation was requested" + a.requestText(&s.Object)
	case s.Active.Expired(a.now):
		return fmt.Sprintf("it expired at %s", s.Active.NotAfter.UTC().Format(time.RFC3339))
	case a.compromised(s.Active):
		return "its key is compromised"
	case !a.due(&s.Object, s.Active, s.Policy).After(a.now):
		return dueSince(a.due(&s.Object, s.Active, s.Policy))
	case twin != nil:
		return fmt.Sprintf("it was renewed with its key, so no probe can show that a server has loaded it, and all leaves end with the former one at %s",
			twin.NotAfter.UTC().Format(time.RFC3339))
	case s.Policy.Profile.Key != "" && s.Active.KeyAlgorithm != s.Policy.Profile.Key:
		return keyDifference(s.Active, s.Policy.Profile)
	}
	return ""
}

// refusedWrites returns the writes that the API server refuses to the controller, and the workload restarts that are
// held. Both wait for an operator.
func (a *assessor) refusedWrites() []Blocker {
	var out []Blocker
	for _, r := range a.d.Refusals {
		if r.Verb == VerbRestart {
			out = append(out, Blocker{
				Object: r.Object, Reason: ReasonRestartHeld,
				Message: fmt.Sprintf("%s; since %s", r.Answer, r.Since.UTC().Format(time.RFC3339)),
			})
			continue
		}
		out = append(out, Blocker{
			Object: r.Object, Reason: ReasonWriteRefused,
			Message: fmt.Sprintf("the API server refuses to %s it since %s: %s", r.Verb, r.Since.UTC().Format(time.RFC3339), r.Answer),
		})
	}
	return out
}

func distinct(in []Blocker) []Blocker {
	seen := make(map[Blocker]bool, len(in))
	var out []Blocker
	for _, b := range in {
		if !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}
