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

// blockers lists what the rotation waits for, each once.
func (a *decision) blockers(out *Assessment, turn *turn) []Blocker {
	var all []Blocker
	s := &a.d.Signer
	switch out.Stage {
	case Distributing, Reissuing:
		if out.Newest != nil && (s.Next != nil || out.Stage == Distributing) {
			all = append(all, a.waitsForAll(out.Newest)...)
		}
	case Draining:
		for _, ca := range a.former {
			all = append(all, a.undeliveringOf(ca)...)
			all = append(all, a.waitsForStandIns(ca)...)
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
	if out.InFlight() || a.wanted() != "" || s.Request != nil {
		for _, p := range out.Problems {
			if p.blocks() {
				all = append(all, Blocker{Object: p.Object, Reason: ReasonObjectProblem, Message: p.Message})
			}
		}
	}
	all = append(all, a.authorityAwaited()...)
	if turn.waiting > 0 && len(turn.actions) == 0 {
		all = append(all, Blocker{
			Object: secret(s.Name), Reason: ReasonPaced,
			Message: fmt.Sprintf("%d leaves wait for their turn: at most %d are reissued in a minute", turn.waiting, a.d.ReissuePerMinute),
		})
	}
	all = append(all, a.refusedWrites()...)
	return distinct(append(all, a.openRequests(out)...))
}

// openRequests returns the requests that are waited for.
func (a *decision) openRequests(out *Assessment) []Blocker {
	var all []Blocker
	add := func(reason Reason, message string) {
		all = append(all, Blocker{Object: secret(a.d.Signer.Name), Reason: reason, Message: message})
	}
	aborts, rotates := a.d.Signer.Next != nil && a.abortRequest() != nil, a.rotateRequest(&a.d.Signer.Object) != nil
	switch {
	case aborts && a.d.WrittenBy != "":
		add(ReasonAbortRequested, "an abort was requested, and "+a.d.WrittenBy+" has not carried it out yet")
	case aborts && a.d.Signer.Issued != nil:
		add(ReasonAbortTooLate, "an abort was requested, but "+a.d.Issuer+" signs with the new CA already: let the rotation end, then rotate again")
	case aborts:
		add(ReasonAbortTooLate, "an abort was requested, but a leaf is signed by the new CA already, or the old one has expired: let the rotation end, then rotate again")
	}
	switch {
	case rotates && out.InFlight():
		add(ReasonRotationQueued, "another rotation was requested; it starts when this one has ended")
	case rotates && a.d.WrittenBy != "":
		add(ReasonRotationQueued, "a rotation was requested, and "+a.d.WrittenBy+" has not begun it yet")
	}
	return all
}

// refusedWrites returns the writes that the API server refuses to the controller, and the workload restarts that are
// held. Both wait for an operator.
func (a *decision) refusedWrites() []Blocker {
	var out []Blocker
	for _, r := range a.d.Refusals {
		if r.Verb == VerbRestart {
			out = append(out, Blocker{
				Object: r.Object, Reason: ReasonRestartHeld,
				Message: fmt.Sprintf("%s; since %s", r.Answer, r.Since.UTC().Format(time.RFC3339)),
			})
			continue
		}
		if r.Verb == VerbIssue {
			out = append(out, Blocker{
				Object: r.Object, Reason: ReasonNotIssued,
				Message: fmt.Sprintf("%s does not issue it since %s: %s", a.d.Issuer, r.Since.UTC().Format(time.RFC3339), r.Answer),
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

// problems collects what is wrong with the objects of the domain: those that cannot be read, and those that cannot do
// their work.
func (a *decision) problems() []Problem {
	d := a.d
	var out []Problem
	add := func(p *Problem) {
		if p != nil {
			out = append(out, *p)
		}
	}
	add(a.clockProblem())
	add(unwritable(secret(d.Signer.Name), &d.Signer.Object))
	add(unwritable(d.Bundle.Ref(), &d.Bundle.Object))
	add(d.Signer.Problem)
	if d.Signer.Problem == nil {
		if outlived := a.outlivedProblem(); outlived != nil {
			add(outlived)
		} else {
			add(a.expired(secret(d.Signer.Name), d.Signer.Active, "a new CA is made and every leaf is reissued"))
		}
	}
	add(a.rootUnknown())
	add(a.jumpProblem())
	add(d.Bundle.Problem)
	add(unreadProblem(d.Bundle.Ref(), d.Bundle.Unread))
	add(d.RosterProblem)
	for _, delivery := range d.deliveries() {
		add(delivery.Problem)
	}
	out = append(out, a.diverged()...)
	out = append(out, d.twiceChosen()...)
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if !l.Unnamed {
			// Unnamed leaves are not issued, and may be immutable copies that pods mount.
			add(unwritable(secret(l.Name), &l.Object))
		}
		add(l.Problem)
		add(unreadProblem(secret(l.Name), l.UnreadAnchors))
		add(l.passwordProblem())
		if l.Problem == nil && l.Certificate != nil && a.early(l.Certificate) {
			add(&Problem{
				Object: secret(l.Name), Reason: ReasonNotYetValid,
				Message: fmt.Sprintf("is not valid before %s; it is reissued by %s", l.Certificate.NotBefore.UTC().Format(time.RFC3339), secret(d.Signer.Name)),
			})
		}
		if l.Problem == nil && l.Certificate != nil && a.signers[l.Name] == nil {
			add(&Problem{
				Object: secret(l.Name), Reason: ReasonUnknownSigner,
				Message: fmt.Sprintf("is signed by no CA that this trust domain knows (issuer %s); it is reissued by %s",
					l.Certificate.Issuer, secret(d.Signer.Name)),
			})
		}
	}
	return append(out, d.Problems...)
}

func (a *decision) expired(object string, c *pki.Certificate, next string) *Problem {
	if c == nil || !c.Expired(a.now) {
		return nil
	}
	return &Problem{
		Object: object, Reason: ReasonExpired,
		Message: fmt.Sprintf("expired at %s; %s", c.NotAfter.UTC().Format(time.RFC3339), next),
	}
}

// diverged returns the members that trust other CAs than the domain's though no rotation is in flight. The Secrets
// may be older than the processes, as after a restore of the cluster, or a process may come from an older disk.
func (a *decision) diverged() []Problem {
	if !a.unrotated {
		return nil
	}
	var out []Problem
	for p, m := range each(a.parties) {
		if !p.VerifiesNothing && a.denies(p, m, a.d.Signer.Active) {
			out = append(out, Problem{
				Object: secret(a.d.Signer.Name), Reason: ReasonDiverged, Message: MemberName(p.Name, m.Name) + " " + divergence(a.d.Signer.Active),
			})
		}
	}
	return out
}

func (a *decision) overdue(out *Assessment) []Problem {
	if out.StageDeadline.IsZero() || out.StageDeadline.After(a.now) {
		return nil
	}
	return []Problem{{
		Object: secret(a.d.Signer.Name), Reason: ReasonOverdue,
		Message: fmt.Sprintf("the stage %s began at %s and was expected to end by %s; see the blockers",
			out.Stage, out.StageSince.UTC().Format(time.RFC3339), out.StageDeadline.UTC().Format(time.RFC3339)),
	}}
}

// outlived returns the members, by MemberName, that present a working leaf although the active CA and every leaf in a
// Secret have expired. `certrotation recover` leaves that behind until the manifests that it wrote are applied. Those
// leaves need the key of the active CA. until is when the last of them ends.
//
// Only probes count. Reports are as old as the process that made them. The revision of a static pod does not tell, as
// a recovery is no revision.
func (a *decision) outlived() (members []string, until time.Time) {
	unexpired := func(l Leaf) bool { return l.Certificate != nil && !l.Certificate.Expired(a.now) }
	if active := a.d.Signer.Active; active == nil || !active.Expired(a.now) || slices.ContainsFunc(a.d.Leaves, unexpired) {
		return nil, time.Time{}
	}
	for p, m := range each(a.parties) {
		last := m.recoveredUntil()
		if !p.Kind.ByHandshake() || last.IsZero() || last.Before(a.now) {
			continue
		}
		members = append(members, MemberName(p.Name, m.Name))
		if last.After(until) {
			until = last
		}
	}
	slices.Sort(members)
	return members, until
}

// outlivedProblem reports that nothing is done, as a new CA would destroy the key that working leaves need.
func (a *decision) outlivedProblem() *Problem {
	members, until := a.outlived()
	if len(members) == 0 {
		return nil
	}
	object := secret(a.d.Signer.Name)
	return &Problem{Object: object, Reason: ReasonOutlived, Message: fmt.Sprintf(
		"has expired, as has every leaf in a Secret, but %s present leaves of its key that are valid until %s, so they were recovered; "+
			"nothing is done, as a new CA would destroy the key that they need: apply the manifests that `certrotation recover` wrote "+
			"to its --output-dir on every node, or delete %s if these members may be cut off",
		strings.Join(members, ", "), until.UTC().Format(time.RFC3339), object)}
}
