// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/orphan"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Reasons of events.
const (
	EventGraceStarted = "DepartedGraceStarted"
	EventGraceEnded   = "DepartedCameBack"
	EventDeleted      = "DepartedDeleted"
)

// writeTimeout bounds the reads and the write of one step.
const writeTimeout = 20 * time.Second

func (c *Controller) reconcile(ctx context.Context, namespace string) error {
	now := c.clock.Now()
	plan := orphan.Decide(c.inventory.Sources(namespace), c.inventory.Namespace(namespace), now)
	if !plan.Recheck.IsZero() {
		c.queue.AddAfter(namespace, plan.Recheck.Sub(now))
	}
	decisions, err := c.confirm(ctx, namespace, plan.Decisions)
	errs := []error{err}
	for i := range decisions {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.perform(ctx, namespace, &decisions[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s %s/%s: %w", decisions[i].Step, decisions[i].Kind, namespace, decisions[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// confirm takes out the deletions that live reads, and whoever else has a clock, do not lead to as well.
func (c *Controller) confirm(ctx context.Context, namespace string, decisions []orphan.Decision) ([]orphan.Decision, error) {
	deletes := func(d orphan.Decision) bool { return d.Step == orphan.Delete }
	if !slices.ContainsFunc(decisions, deletes) {
		return decisions, nil
	}
	kept := slices.DeleteFunc(slices.Clone(decisions), deletes)
	live, err := c.inventory.Live(ctx, namespace)
	if err != nil {
		return kept, fmt.Errorf("read namespace %s live: %w", namespace, err)
	}
	if c.skew != nil {
		skew, err := c.skew.Ask(ctx)
		if err != nil {
			return kept, fmt.Errorf("ask about the clock: %w", err)
		}
		live = live.WithClockSkew(skew)
	}
	confirmed := orphan.Decide(live, inventory.Build(live), c.clock.Now()).Decisions
	for _, d := range confirmed {
		if deletes(d) && slices.ContainsFunc(decisions, func(was orphan.Decision) bool {
			return deletes(was) && was.Kind == d.Kind && was.Name == d.Name && was.UID == d.UID
		}) {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

// perform does one step. What has begun is finished.
func (c *Controller) perform(ctx context.Context, namespace string, d *orphan.Decision) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var err error
	reason := EventDeleted
	switch d.Step {
	case orphan.Delete:
		err = c.remove(writing, namespace, d)
	case orphan.Mark:
		reason, err = EventGraceStarted, c.mark(writing, namespace, d)
	case orphan.Unmark:
		reason, err = EventGraceEnded, c.mark(writing, namespace, d)
	}
	if err != nil {
		return err
	}
	version := corev1.SchemeGroupVersion
	if d.Kind == trust.RecordKind {
		version = configv1alpha1.SchemeGroupVersion
	}
	object := &corev1.ObjectReference{APIVersion: version.String(), Kind: string(d.Kind), Namespace: namespace, Name: d.Name, UID: types.UID(d.UID)}
	c.recorder.Eventf(object, nil, corev1.EventTypeNormal, reason, string(d.Step), "%s: %s", d.Name, d.Reason)
	klog.FromContext(ctx).Info("Done", "step", d.Step, "kind", d.Kind, "object", klog.KRef(namespace, d.Name), "why", d.Reason)
	return nil
}
