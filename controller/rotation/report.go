// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const actionAssess = "Assess"

// report emits events for what has changed since the last pass over a domain, and keeps what the metrics show.
func (c *Controller) report(k key, d *trust.Domain, a *trust.Assessment) {
	now := statusOf(d, a, c.clock.Now())
	found := c.reported.replace(k, now)
	before := &found.before
	if found.news {
		c.queue.Add(key{namespace: k.namespace, status: true})
	}
	signer := referenceOf(d.Namespace, string(trust.SecretKind)+"/"+d.Signer.Name, types.UID(d.Signer.UID))
	c.reportWaivers(signer, before.waivers, now.waivers)
	if found.known && before.stage != a.Stage {
		c.emit(signer, corev1.EventTypeNormal, EventStageChanged, actionAssess,
			fmt.Sprintf("trust domain %s went from %s to %s", d.Name, before.stage, a.Stage))
		// Distributing returns to Stable only by an abort.
		if a.Stage == trust.Stable && before.stage != trust.Distributing {
			c.emit(signer, corev1.EventTypeNormal, EventRotationCompleted, actionAssess,
				fmt.Sprintf("trust domain %s uses %s alone", d.Name, subject(a)))
		}
	}
	switch {
	case found.tell:
		c.emit(signer, corev1.EventTypeWarning, EventRotationBlocked, waitingFor(a), blockedText(a))
	case found.in > 0:
		c.queue.AddAfter(k, found.in)
	}
	c.reportProblems(k, d, a.Problems)
}

func subject(a *trust.Assessment) string {
	if a.Newest == nil {
		return "no CA"
	}
	return a.Newest.Subject
}

// blockedText describes what a rotation waits for if the controller can do nothing about it, "" otherwise.
func blockedText(a *trust.Assessment) string {
	if !a.Blocked() {
		return ""
	}
	texts := make([]string, 0, len(a.Blockers))
	for i := range a.Blockers {
		texts = append(texts, fmt.Sprintf("%s (%s)", &a.Blockers[i], a.Blockers[i].Reason))
	}
	return fmt.Sprintf("%s waits: %s", a.Stage, strings.Join(texts, "; "))
}

// waitingFor is the action of a RotationBlocked event. A recorder merges events by action and not by text, so each
// set of awaited subjects has its own action.
func waitingFor(a *trust.Assessment) string {
	var all []string
	for _, b := range a.Blockers {
		all = append(all, trust.Subject(b.Party, b.Member, b.Object, string(b.Reason)))
	}
	return display.Action("WaitFor " + strings.Join(slices.Compact(all), " "))
}

// reportProblems emits an event on each object with a new problem. Its action is the reason of the problem, because a
// recorder merges events that differ in text alone.
func (c *Controller) reportProblems(k key, d *trust.Domain, problems []trust.Problem) {
	for _, p := range c.reported.newProblems(k, problems) {
		reason := EventObjectProblem
		if p.Reason == inventory.ReasonInvalidConfiguration || p.Reason == inventory.ReasonConflictingClaim {
			reason = EventInvalidConfiguration
		}
		c.emit(referenceOf(k.namespace, p.Object, uidOf(d, p.Object)), corev1.EventTypeWarning, reason, string(p.Reason), fmt.Sprintf("%s (%s)", &p, p.Reason))
	}
}

// uidOf returns the UID of an object of the domain that is named Kind/name, "" if the domain has none.
func uidOf(d *trust.Domain, named string) types.UID {
	if d == nil {
		return ""
	}
	kind, name, _ := strings.Cut(named, "/")
	if kind == string(trust.ConfigMapKind) {
		if name == d.Bundle.Name {
			return types.UID(d.Bundle.UID)
		}
		return ""
	}
	if name == d.Signer.Name {
		return types.UID(d.Signer.UID)
	}
	if l := d.Leaf(name); l != nil {
		return types.UID(l.UID)
	}
	return ""
}

const actionWaive = "Waive"

// reportWaivers emits an event on the signer for each waiver that begins or ends. People must find there that a
// rotation continues without the evidence of a member. The action names the member, which separates the events.
func (c *Controller) reportWaivers(signer *corev1.ObjectReference, before, now []trust.Waiver) {
	for _, w := range now {
		if !slices.Contains(before, w) {
			c.emit(signer, corev1.EventTypeWarning, EventMemberWaived, actionOn(w), fmt.Sprintf(
				"%s has the rotation go on without the evidence of %s until %s: %s",
				cmp.Or(w.By, "an unknown user"), trust.MemberName(w.Party, w.Member), w.Expires.UTC().Format(time.RFC3339), w.Reason))
		}
	}
	for _, w := range before {
		if !slices.Contains(now, w) {
			c.emit(signer, corev1.EventTypeNormal, EventWaiverEnded, actionOn(w), fmt.Sprintf(
				"the waiver of %s by %s does not hold any more", trust.MemberName(w.Party, w.Member), cmp.Or(w.By, "an unknown user")))
		}
	}
}

func actionOn(w trust.Waiver) string {
	return display.Action(actionWaive + " " + trust.MemberName(w.Party, w.Member))
}
