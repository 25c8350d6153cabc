// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/display"
)

// Reasons of events on the source.
const (
	EventCopyHeld    = "CopyHeld"
	EventCopyResumed = "CopyResumed"
)

// patience is how long a copy is held for the same reason before an event: the controller needs a moment to observe a
// restarted member.
const patience = 10 * time.Second

// report records why a copy differs from the configuration, "" if it does not, and sends one event for it.
func (c *Controller) report(k key, held string) {
	now, source := c.clock.Now(), ""
	var tell, resumed bool
	var in time.Duration
	c.memory.update(k, func(s *state) {
		source = s.source
		if s.held != held {
			s.held, s.heldAt = held, now
		}
		if held == "" {
			resumed, s.told = s.told != "", ""
			return
		}
		if s.told == held {
			return
		}
		if in = s.heldAt.Add(patience).Sub(now); in <= 0 {
			tell, s.told = true, held
		}
	})
	object := &corev1.ObjectReference{APIVersion: "v1", Kind: string(k.kind), Namespace: k.from, Name: source}
	where := k.where()
	// Events of one object and reason are merged unless their actions differ.
	action := display.Action("Copy to " + where)
	switch {
	case tell:
		c.recorder.Eventf(object, nil, corev1.EventTypeWarning, EventCopyHeld, action, "%s", display.Note("copy "+where+": "+held))
	case resumed:
		c.recorder.Eventf(object, nil, corev1.EventTypeNormal, EventCopyResumed, action, "%s", display.Note("copy "+where+" follows its source again"))
	case in > 0:
		c.queueOf(k).AddAfter(k, in)
	}
}
