// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/truncate"
)

// Reasons of events, which are on the target.
const (
	EventInjectionHeld    = "InjectionHeld"
	EventInjectionResumed = "InjectionResumed"
)

// patience is how long a target is held for the same reason before that is worth an event: who applies a target and the
// configuration of its bundle together takes a moment.
const patience = 10 * time.Second

// report keeps why a target does not follow its bundle, "" if it does, and says so once.
func (c *Controller) report(t target, object metav1.Object, held string) {
	now := c.clock.Now()
	var tell, resumed bool
	var in time.Duration
	c.memory.update(t, func(s *state) {
		if s.held != held {
			s.held, s.heldAt = held, now
		}
		switch {
		case held == "":
			resumed, s.told = s.told != "", ""
		case s.told != held:
			if in = s.heldAt.Add(patience).Sub(now); in <= 0 {
				tell, s.told = true, held
			}
		}
	})
	resource := injection.Resources[configv1alpha1.InjectionKind(t.Kind)]
	ref := &corev1.ObjectReference{
		APIVersion: resource.GroupVersion().String(), Kind: t.Kind, Name: t.Name, UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
	switch {
	case tell:
		c.cfg.Recorder.Eventf(ref, nil, corev1.EventTypeWarning, EventInjectionHeld, "InjectCABundle", "%s", truncate.Note("the CA bundle stays as it is: "+held))
	case resumed:
		c.cfg.Recorder.Eventf(ref, nil, corev1.EventTypeNormal, EventInjectionResumed, "InjectCABundle", "%s", "the CA bundle follows its source again")
	case in > 0:
		c.queue.AddAfter(key{target: t}, in)
	}
}
