// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/orphan"
	"certrotation.dev/registry/trust"
)

// remove deletes what was decided on and nothing that was written since.
func (c *Controller) remove(ctx context.Context, namespace string, d *orphan.Decision) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: new(types.UID(d.UID)), ResourceVersion: new(d.ResourceVersion),
	}}
	if d.Kind == trust.RecordKind {
		return c.records.RotationRecords(namespace).Delete(ctx, d.Name, options)
	}
	return c.client.CoreV1().Secrets(namespace).Delete(ctx, d.Name, options)
}

// mark sets or removes the beginning of the grace period.
func (c *Controller) mark(ctx context.Context, namespace string, d *orphan.Decision) error {
	options := metav1.UpdateOptions{FieldManager: FieldManager}
	if d.Kind == trust.RecordKind {
		live, err := c.records.RotationRecords(namespace).Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := c.annotate(&live.ObjectMeta, d); err != nil {
			return err
		}
		_, err = c.records.RotationRecords(namespace).Update(ctx, live, options)
		return err
	}
	live, err := c.client.CoreV1().Secrets(namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := c.annotate(&live.ObjectMeta, d); err != nil {
		return err
	}
	_, err = c.client.CoreV1().Secrets(namespace).Update(ctx, live, options)
	return err
}

func (c *Controller) annotate(live *metav1.ObjectMeta, d *orphan.Decision) error {
	if live.ResourceVersion != d.ResourceVersion || string(live.UID) != d.UID {
		return fmt.Errorf("it is version %s, not %s: %w", live.ResourceVersion, d.ResourceVersion, errStale)
	}
	if d.Step == orphan.Unmark {
		delete(live.Annotations, trust.AnnotationDeleteGraceStart)
		return nil
	}
	if live.Annotations == nil {
		live.Annotations = map[string]string{}
	}
	live.Annotations[trust.AnnotationDeleteGraceStart] = c.clock.Now().UTC().Format(time.RFC3339)
	return nil
}
