// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// resourceRecords is what records are called in metrics.
const resourceRecords = "rotationrecords"

// writeRoster records who counts. It fails if somebody has recorded another roster since.
func (c *Controller) writeRoster(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	roster := *action.Roster
	roster.ResourceVersion = action.ResourceVersion
	made, err := record.OfRoster(d.Namespace, d.Name, &roster)
	if err != nil {
		return "", fmt.Errorf("make the record of the roster: %w", err)
	}
	records := c.records.RotationRecords(d.Namespace)
	if made.ResourceVersion == "" {
		written, err := records.Create(ctx, made, metav1.CreateOptions{FieldManager: FieldManager})
		if err := c.wrote(verbCreate, resourceRecords, err); err != nil {
			return "", err
		}
		c.announce(written, action)
		return written.ResourceVersion, nil
	}
	written, err := records.Update(ctx, made, metav1.UpdateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbUpdate, resourceRecords, err); err != nil {
		return "", stale(err)
	}
	c.announce(written, action)
	return written.ResourceVersion, nil
}

// clearRequest deletes the record of a request, if it still is that request.
func (c *Controller) clearRequest(ctx context.Context, d *trust.Domain, action *trust.Action) error {
	uid := types.UID(action.Request.ID)
	err := c.records.RotationRecords(d.Namespace).Delete(ctx, action.Request.Record, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err := c.wrote(verbDelete, resourceRecords, err); err != nil {
		return stale(err)
	}
	request := action.Request
	secret := string(trust.SecretKind) + "/" + request.Secret
	c.emit(referenceOf(d.Namespace, secret, uidOf(d, secret)), corev1.EventTypeNormal, EventRequestCleared, string(action.Kind),
		fmt.Sprintf("the request to %s %q in %q is closed: %s", strings.ToLower(string(request.Kind)), request.Secret, d.Namespace, action.Reason))
	return nil
}

// writeRecord writes a record, if what is there does not say the same.
func (c *Controller) writeRecord(ctx context.Context, k key, made *configv1alpha1.RotationRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	records := c.records.RotationRecords(made.Namespace)
	written, err := records.Create(ctx, made, metav1.CreateOptions{FieldManager: FieldManager})
	if !apierrors.IsAlreadyExists(err) {
		if err := c.wrote(verbCreate, resourceRecords, err); err != nil {
			return err
		}
		c.expected.expect(k, recordObject(written), written.ResourceVersion)
		return nil
	}
	live, err := records.Get(ctx, made.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read record %s/%s: %w", made.Namespace, made.Name, err)
	}
	if equality.Semantic.DeepEqual(live.Spec, made.Spec) {
		return nil
	}
	live.Spec = made.Spec
	written, err = records.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbUpdate, resourceRecords, err); err != nil {
		return err
	}
	c.expected.expect(k, recordObject(written), written.ResourceVersion)
	return nil
}

// deleteRecord deletes a record, if it is still there.
func (c *Controller) deleteRecord(ctx context.Context, k key, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := c.records.RotationRecords(k.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err := c.wrote(verbDelete, resourceRecords, err); err != nil {
		return fmt.Errorf("delete record %s/%s: %w", k.namespace, name, err)
	}
	c.expected.expectGone(k, object{kind: trust.RecordKind, namespace: k.namespace, name: name}, "")
	return nil
}

func recordObject(r *configv1alpha1.RotationRecord) object {
	return object{kind: trust.RecordKind, namespace: r.Namespace, name: r.Name}
}
