// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// actionWaive is the action of events about waivers.
const actionWaive = "Waive"

// inForce are the waivers that have not ended.
func inForce(waivers []trust.Waiver, now time.Time) []trust.Waiver {
	return slices.DeleteFunc(slices.Clone(waivers), func(w trust.Waiver) bool { return !w.Expires.After(now) })
}

// reportWaivers has an event on the signer for each waiver that begins or ends: that a rotation goes on without the
// evidence of somebody is to be found where people look. The action names the member, by which events are told apart.
func (c *Controller) reportWaivers(signer *corev1.ObjectReference, before, now []trust.Waiver) {
	for _, w := range now {
		if !slices.Contains(before, w) {
			c.emit(signer, corev1.EventTypeWarning, EventMemberWaived, actionOn(w), fmt.Sprintf(
				"%s has the rotation go on without the evidence of %s/%s until %s: %s",
				cmp.Or(w.By, "somebody"), w.Party, w.Member, w.Expires.UTC().Format(time.RFC3339), w.Reason))
		}
	}
	for _, w := range before {
		if !slices.Contains(now, w) {
			c.emit(signer, corev1.EventTypeNormal, EventWaiverEnded, actionOn(w), fmt.Sprintf(
				"the waiver of %s/%s by %s does not hold any more", w.Party, w.Member, cmp.Or(w.By, "somebody")))
		}
	}
}

func actionOn(w trust.Waiver) string { return cutAt(actionWaive+" "+w.Party+"/"+w.Member, maxAction) }
