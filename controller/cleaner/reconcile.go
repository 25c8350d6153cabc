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
	"certrotation.dev/controller/internal/apply"
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

// confirm drops the deletions that live reads and the clock skew do not confirm.
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

// perform executes one step, and finishes it even if ctx ends.
func (c *Controller) perform(ctx context.Context, namespace string, d *orphan.Decision) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	version, by := corev1.SchemeGroupVersion, apply.By{FieldManager: FieldManager}
	var err error
	if d.Kind == trust.RecordKind {
		version = configv1alpha1.SchemeGroupVersion
		err = step(writing, apply.To(c.records.RotationRecords(namespace), "rotationrecords", by), &configv1alpha1.RotationRecord{}, d, c.clock.Now())
	} else {
		err = step(writing, apply.To(c.client.CoreV1().Secrets(namespace), "secrets", by), &corev1.Secret{}, d, c.clock.Now())
	}
	if err != nil {
		return err
	}
	object := &corev1.ObjectReference{APIVersion: version.String(), Kind: string(d.Kind), Namespace: namespace, Name: d.Name, UID: types.UID(d.UID)}
	reason := map[orphan.Step]string{orphan.Delete: EventDeleted, orphan.Mark: EventGraceStarted, orphan.Unmark: EventGraceEnded}[d.Step]
	c.recorder.Eventf(object, nil, corev1.EventTypeNormal, reason, string(d.Step), "%s: %s", d.Name, d.Reason)
	klog.FromContext(ctx).Info("Done", "step", d.Step, "kind", d.Kind, "object", klog.KRef(namespace, d.Name), "why", d.Reason)
	return nil
}

// step deletes an object unless it was written since the decision, or sets or removes the start of its grace period.
func step[T apply.Object[T]](ctx context.Context, to apply.Writer[T], empty T, d *orphan.Decision, now time.Time) error {
	if d.Step == orphan.Delete {
		return to.Delete(ctx, d.Name, types.UID(d.UID), d.ResourceVersion)
	}
	empty.SetName(d.Name)
	_, _, err := to.Write(ctx, empty, d.ResourceVersion, func(live T, exists bool) error {
		if !exists {
			return apply.ErrStale
		}
		annotations := live.GetAnnotations()
		delete(annotations, trust.AnnotationDeleteGraceStart)
		if d.Step == orphan.Mark {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[trust.AnnotationDeleteGraceStart] = now.UTC().Format(time.RFC3339)
		}
		live.SetAnnotations(annotations)
		return nil
	})
	return err
}
