// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// Bounds of what each signer shows of a rollout. A status may hold more: any user who may write ConfigMaps may write
// it.
const (
	maxRolloutConditions = 32
	maxRolloutBlockers   = 16
)

// reasonMoreBlockers is on the entry that stands for the blockers that are not shown.
const reasonMoreBlockers = "MoreBlockers"

// degradedSuffix ends the types of conditions that are bad when they are true.
const degradedSuffix = "Degraded"

// rolloutOf returns the rollout of the configuration of a trust domain, nil if it has none.
func rolloutOf(n *inventory.Namespace, domain string) *inventory.Rollout {
	for _, r := range n.Rollouts {
		if slices.Contains(r.Domains, domain) {
			return r
		}
	}
	return nil
}

func (r *renderer) rolloutStatus() *rollout.Status {
	if r.rollout == nil || r.rollout.Status == nil {
		return &rollout.Status{}
	}
	return r.rollout.Status
}

func (r *renderer) rolloutRef() string {
	return configMapRef(rollout.StatusName(r.rollout.Config.Name))
}

// rolloutConditions returns the conditions of the rollout, with their own names and times. It leaves out a condition
// with the name of one of the signer itself.
func (r *renderer) rolloutConditions(created metav1.Time) []metav1.Condition {
	seen := map[string]bool{
		certrotation.ConditionReady: true, certrotation.ConditionProgressing: true,
		certrotation.ConditionBlocked: true, certrotation.ConditionDegraded: true,
	}
	var out []metav1.Condition
	status := r.rolloutStatus()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if seen[c.Type] || len(out) == maxRolloutConditions {
			continue
		}
		seen[c.Type] = true
		next := metav1.Condition{
			Type: c.Type, Status: metav1.ConditionFalse, Reason: cmp.Or(c.Reason, c.Type),
			Message: bounded(c.Message), LastTransitionTime: toTime(c.LastTransitionTime),
		}
		if c.Status {
			next.Status = metav1.ConditionTrue
		}
		if next.LastTransitionTime.IsZero() {
			next.LastTransitionTime = created
		}
		out = append(out, next)
	}
	return out
}

// rolloutBlockers returns what the rollout waits for, overdue blockers first.
func (r *renderer) rolloutBlockers() []certrotation.Blocker {
	blockers := r.blockersByAge()
	shown := blockers[:min(len(blockers), maxRolloutBlockers)]
	var out []certrotation.Blocker
	for i := range shown {
		b := &shown[i]
		out = append(out, certrotation.Blocker{
			Member: b.Node, Object: b.Object(r.rollout.Config.Name), Reason: string(b.Reason), Message: bounded(b.Message), Since: toTimePointer(b.Since),
		})
	}
	if more := len(blockers) - len(shown); more > 0 {
		out = append(out, certrotation.Blocker{
			Object: r.rolloutRef(), Reason: reasonMoreBlockers, Message: fmt.Sprintf("the rollout waits for %d more; all of them are in this ConfigMap", more),
		})
	}
	return out
}

func (r *renderer) blockersByAge() []rollout.Blocker {
	blockers := slices.Clone(r.rolloutStatus().Blockers)
	slices.SortStableFunc(blockers, func(x, y rollout.Blocker) int {
		switch {
		case x.Overdue == y.Overdue:
			return 0
		case x.Overdue:
			return -1
		}
		return 1
	})
	return blockers
}

// rolloutDegraded is true when the rollout has a problem, a degraded condition or an overdue blocker. A problem is an
// unreadable status or a refusing class. The first one found gives the reason and the time.
func (r *renderer) rolloutDegraded() verdict {
	if r.rollout == nil {
		return healthy()
	}
	if problem := r.rollout.Problem; problem != nil {
		return verdict{status: true, reason: string(problem.Reason), message: problem.String()}
	}
	if problem := r.rollout.ClassProblem; problem != nil {
		return verdict{status: true, reason: string(problem.Reason), message: problem.String()}
	}
	var texts []string
	var reason string
	var since time.Time
	add := func(why, text string, from time.Time) {
		if len(texts) == 0 {
			reason, since = why, from
		}
		texts = append(texts, text)
	}
	status := r.rolloutStatus()
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Status && strings.HasSuffix(c.Type, degradedSuffix) {
			add(c.Type, c.Type+": "+cmp.Or(c.Message, c.Reason), c.LastTransitionTime)
		}
	}
	for i := range status.Blockers {
		if b := &status.Blockers[i]; b.Overdue {
			add(string(b.Reason), b.Text(r.rollout.Config.Name), b.Since)
		}
	}
	if len(texts) == 0 {
		return healthy()
	}
	return verdict{status: true, reason: reason, message: "rollout " + r.rollout.Config.Name + ": " + joined(texts), since: since}
}
