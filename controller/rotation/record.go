// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

func (c *Controller) recordsOf(namespace string) apply.Writer[*configv1alpha1.RotationRecord] {
	return apply.To(c.records.RotationRecords(namespace), "rotationrecords", c.by)
}

// annotationRewritten is when a record was changed only to be sent to every cache again.
const annotationRewritten = "certrotation.dev/rewritten-at"

// rewriteAfter is how long the caches have to show a record that was changed for that.
const rewriteAfter = 10 * time.Second

// writeRoster writes into a record which members count, if it is of the version that the decision was made on.
//
// If the record has that content already, in the very version that the decision was made on, then the cache is wrong. While a definition
// is replaced, an API server may decode an object by the former one, without new fields, and no watch event corrects that. An annotation
// changes the record, so that every informer, also that of serve, receives its content again.
func (c *Controller) writeRoster(ctx context.Context, k key, d *trust.Domain, action *trust.Action) (
	_ *configv1alpha1.RotationRecord, wrote bool, err error,
) {
	if action.Kind != trust.RecordRoster {
		return nil, false, fmt.Errorf("action %q is none of a record", action.Kind)
	}
	made, err := record.OfRoster(d.Namespace, d.Name, action.Roster)
	if err != nil {
		return nil, false, fmt.Errorf("make the record of the roster: %w", err)
	}
	fill := func(r *configv1alpha1.RotationRecord, exists bool) error {
		before, now := r.DeepCopy(), c.clock.Now()
		fillRecord(r, made)
		rewritten, err := time.Parse(time.RFC3339, r.Annotations[annotationRewritten])
		if exists && equality.Semantic.DeepEqual(before, r) && (err != nil || now.Sub(rewritten).Abs() >= rewriteAfter) {
			r.Annotations = merged(r.Annotations, map[string]string{annotationRewritten: now.UTC().Format(time.RFC3339)})
		}
		return nil
	}
	named := metav1.ObjectMeta{Namespace: k.namespace, Name: action.Object}
	written, wrote, err := c.recordsOf(k.namespace).Write(ctx, &configv1alpha1.RotationRecord{ObjectMeta: named}, action.ResourceVersion, fill)
	if err == nil && !wrote {
		c.queue.AddAfter(k, rewriteAfter)
	}
	return written, wrote, err
}

func fillRecord(r, made *configv1alpha1.RotationRecord) {
	r.Spec, r.Labels = made.Spec, merged(r.Labels, made.Labels)
}

// clearRequest deletes the record of a request, if it is still the same request.
func (c *Controller) clearRequest(ctx context.Context, d *trust.Domain, action *trust.Action) error {
	request := action.Request
	if err := c.recordsOf(d.Namespace).Delete(ctx, request.Record, types.UID(request.ID), ""); err != nil {
		return apply.Stale(err)
	}
	secret := string(trust.SecretKind) + "/" + request.Secret
	c.emit(referenceOf(d.Namespace, secret, uidOf(d, secret)), corev1.EventTypeNormal, EventRequestCleared, string(action.Kind),
		fmt.Sprintf("the request to %s %q in %q is closed: %s", strings.ToLower(string(request.Kind)), request.Secret, d.Namespace, action.Reason))
	return nil
}

// dropEvidence deletes the record of a member that no longer counts, unless it was written since: a member of that
// name may have come back.
func (c *Controller) dropEvidence(ctx context.Context, k key, action *trust.Action) error {
	return apply.Stale(c.recordsOf(k.namespace).Delete(ctx, action.Object, types.UID(action.Evidence.UID), action.ResourceVersion))
}

// writeRecord writes a record, unless the stored one says the same.
func (c *Controller) writeRecord(ctx context.Context, k key, made *configv1alpha1.RotationRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	written, wrote, err := c.recordsOf(made.Namespace).Write(ctx, made.DeepCopy(), apply.Any, func(r *configv1alpha1.RotationRecord, _ bool) error {
		fillRecord(r, made)
		return nil
	})
	if err != nil || !wrote {
		return err
	}
	c.expected.expect(k, object{kind: trust.RecordKind, namespace: made.Namespace, name: made.Name}, written.ResourceVersion)
	return nil
}

// deleteRecord deletes a record, if it still exists.
func (c *Controller) deleteRecord(ctx context.Context, k key, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := apply.Gone(c.recordsOf(k.namespace).Delete(ctx, name, "", "")); err != nil {
		return fmt.Errorf("delete record %s/%s: %w", k.namespace, name, err)
	}
	c.expected.expectGone(k, object{kind: trust.RecordKind, namespace: k.namespace, name: name}, "")
	return nil
}
