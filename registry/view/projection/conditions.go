// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// verdict is a condition without its time. Since is when it came about as far as the content tells; it is used only
// where no earlier rendering is known, so that replicas and restarts agree.
type verdict struct {
	status  bool
	reason  string
	message string
	since   time.Time
}

// conditions collects the conditions of one object.
type conditions struct {
	list     []metav1.Condition
	previous []metav1.Condition
	created  metav1.Time
	now      time.Time
}

func (r *renderer) conditions(object *metav1.ObjectMeta, previous []metav1.Condition) *conditions {
	return &conditions{previous: previous, created: object.CreationTimestamp, now: r.Now}
}

// set adds a condition. Its transition time is that of the previous object while the status is the same.
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

// first is the transition time of a condition that was not rendered before.
func (c *conditions) first(since time.Time) metav1.Time {
	for _, candidate := range []metav1.Time{toTime(since), c.created} {
		if !candidate.IsZero() && !candidate.After(c.now) {
			return candidate
		}
	}
	return toTime(c.now)
}

// progressing is true while the domain rotates, and while a write to the object is due.
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

// refused are the blockers of an object whose writes the API server refuses: whatever else can be done, that cannot.
func (r *renderer) refused(object string) []trust.Blocker {
	var out []trust.Blocker
	for i := range r.assessment.Blockers {
		if b := &r.assessment.Blockers[i]; b.Reason == trust.ReasonWriteRefused && b.Object == object {
			out = append(out, *b)
		}
	}
	return out
}

// blockedBy is true while a rotation waits for somebody and the controller can do nothing else.
func blockedBy(blocked bool, blockers []trust.Blocker) verdict {
	if !blocked || len(blockers) == 0 {
		return verdict{reason: reasonNotBlocked, message: "nothing is waited for"}
	}
	return verdict{status: true, reason: string(blockers[0].Reason), message: blockersText(blockers)}
}
