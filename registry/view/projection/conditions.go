// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// verdict is a condition without its transition time. since is when it began, as far as the content tells. It is used
// only if no earlier rendering is known, so that replicas and restarts agree.
type verdict struct {
	status  bool
	reason  string
	message string
	since   time.Time
}

type conditions struct {
	list     []metav1.Condition
	previous []metav1.Condition
	created  metav1.Time
	now      time.Time
}

func (r *renderer) conditions(object *metav1.ObjectMeta, previous []metav1.Condition) *conditions {
	return &conditions{previous: previous, created: object.CreationTimestamp, now: r.Now}
}

// set adds a condition. It keeps the previous transition time while the status is the same.
func (c *conditions) set(kind string, v verdict) {
	next := metav1.Condition{
		Type:    kind,
		Status:  metav1.ConditionFalse,
		Reason:  v.reason,
		Message: bounded(v.message),
	}
	if v.status {
		next.Status = metav1.ConditionTrue
	}
	previous := meta.FindStatusCondition(c.previous, kind)
	switch {
	case previous != nil && previous.Status == next.Status:
		next.LastTransitionTime = previous.LastTransitionTime
	case previous != nil:
		next.LastTransitionTime = toTime(c.now)
	default:
		next.LastTransitionTime = c.first(v.since)
	}
	c.list = append(c.list, next)
}

// first returns the transition time of a condition that was not rendered before.
func (c *conditions) first(since time.Time) metav1.Time {
	for _, candidate := range []metav1.Time{toTime(since), c.created} {
		if !candidate.IsZero() && !candidate.After(c.now) {
			return candidate
		}
	}
	return toTime(c.now)
}

// progressing is true while the domain rotates, or while a write to the object is due.
func (r *renderer) progressing(object string) verdict {
	a := r.assessment
	if a.InFlight() {
		return verdict{
			status: true, reason: string(a.Stage), since: a.StageSince,
			message: "the trust domain " + r.domain.Name + " is in the stage " + string(a.Stage),
		}
	}
	for i := range a.Actions {
		action := &a.Actions[i]
		if string(action.ObjectKind)+"/"+action.Object == object {
			return verdict{status: true, reason: string(action.Kind), message: action.Reason}
		}
	}
	return verdict{reason: string(trust.Stable), message: "no rotation is in flight"}
}

// refused returns the blockers of an object whose writes the API server refuses. They block the object even while the
// controller can do something else.
func (r *renderer) refused(object string) []trust.Blocker {
	var out []trust.Blocker
	for i := range r.assessment.Blockers {
		if b := &r.assessment.Blockers[i]; b.Reason == trust.ReasonWriteRefused && b.Object == object {
			out = append(out, *b)
		}
	}
	return out
}

// blockedBy is true while a rotation waits and the controller can do nothing else.
func blockedBy(blocked bool, blockers []trust.Blocker) verdict {
	if !blocked || len(blockers) == 0 {
		return verdict{reason: reasonNotBlocked, message: "nothing is waited for"}
	}
	return verdict{status: true, reason: string(blockers[0].Reason), message: blockersText(blockers)}
}

func (r *renderer) objectDegraded(ref string) verdict {
	if problem := r.assessment.ProblemOf(ref); problem != nil {
		return verdict{status: true, reason: string(problem.Reason), message: problem.Message, since: r.overdueSince(problem)}
	}
	return healthy()
}

// signerDegraded is true when anything in the domain has a problem: first the signer, then an overdue stage, then
// leaves, bundle and nodes, then the rollout.
func (r *renderer) signerDegraded() verdict {
	own := secretRef(r.domain.Signer.Name)
	var first, overdue *trust.Problem
	for i := range r.assessment.Problems {
		problem := &r.assessment.Problems[i]
		switch {
		case problem.Reason == trust.ReasonOverdue:
			overdue = problem
		case problem.Object == own && first == nil:
			first = problem
		}
	}
	if first == nil {
		first = overdue
	}
	switch {
	case first != nil:
		return verdict{status: true, reason: string(first.Reason), message: first.Message, since: r.overdueSince(first)}
	case len(r.assessment.Problems) > 0:
		return verdict{status: true, reason: reasonDomainProblems, message: problemsText(r.assessment.Problems)}
	}
	return r.rolloutDegraded()
}

// overdueSince returns the stage deadline for an overdue stage, zero for any other problem.
func (r *renderer) overdueSince(problem *trust.Problem) time.Time {
	if problem.Reason == trust.ReasonOverdue {
		return r.assessment.StageDeadline
	}
	return time.Time{}
}

func healthy() verdict {
	return verdict{reason: reasonHealthy, message: "no problem is known"}
}
