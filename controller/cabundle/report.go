// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/injection"
)

// Reasons of events on the target, or on the configuration that names a target which cannot be watched.
const (
	EventInjectionHeld    = "InjectionHeld"
	EventInjectionResumed = "InjectionResumed"
)

// patience is how long a target is held for the same reason before an event. It spans the moment between applying a
// target and the configuration of its bundle.
const patience = 10 * time.Second

// subject is the object of an event, with the texts.
type subject struct {
	ref *corev1.ObjectReference
	// again is the key to enqueue when patience is over.
	again key
	// holds and resumes begin the texts of the events for a hold and for its end.
	holds, resumes string
}

// report records why a target does not follow its bundle, "" if it does, and sends one event for it.
func (c *Controller) report(t target, object metav1.Object, held string) {
	resource := injection.Resources[configv1alpha1.InjectionKind(t.Kind)]
	c.tell(t, held, subject{
		ref: &corev1.ObjectReference{
			APIVersion: resource.GroupVersion().String(), Kind: t.Kind, Name: t.Name, UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		},
		again: key{target: t}, holds: "the CA bundle stays as it is: ", resumes: "the CA bundle follows its source again",
	})
}

// reportConfiguration records why targets of a configuration cannot be watched, "" if they can, and sends one event
// for it.
func (c *Controller) reportConfiguration(namespace, name string, uid types.UID, held string) {
	c.tell(configurationTarget(namespace, name), held, subject{
		ref: &corev1.ObjectReference{
			APIVersion: configv1alpha1.SchemeGroupVersion.String(), Kind: configurationKind, Namespace: namespace, Name: name, UID: uid,
		},
		again: key{namespace: namespace}, holds: "nothing is injected: ", resumes: "everything in injectInto is of a kind that is served",
	})
}

// tell records why something is held, and sends an event if that has lasted for patience.
func (c *Controller) tell(t target, held string, about subject) {
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
	switch {
	case tell:
		c.cfg.Recorder.Eventf(about.ref, nil, corev1.EventTypeWarning, EventInjectionHeld, "InjectCABundle", "%s", display.Note(about.holds+held))
	case resumed:
		c.cfg.Recorder.Eventf(about.ref, nil, corev1.EventTypeNormal, EventInjectionResumed, "InjectCABundle", "%s", about.resumes)
	case in > 0:
		c.queue.AddAfter(about.again, in)
	}
}
