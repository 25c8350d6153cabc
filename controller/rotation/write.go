// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// write does one action of a domain and returns the resource version of the object afterwards.
func (c *Controller) write(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	if action.ResourceVersion == "" && !withoutVersion(action.Kind) {
		return "", errStale
	}
	switch action.Kind {
	case trust.GenerateActive, trust.GenerateNext, trust.Promote, trust.DestroyPrevious, trust.DropNext:
		return c.writeSigner(ctx, d, action)
	case trust.IssueLeaf:
		return c.writeLeaf(ctx, d, action)
	case trust.PublishAnchors, trust.RetireAnchors:
		return c.writeBundle(ctx, d, action)
	case trust.RecordMetadata:
		return c.writeMetadata(ctx, d, action)
	case trust.RecordRoster:
		return c.writeRoster(ctx, d, action)
	case trust.ClearRequest:
		return "", c.clearRequest(ctx, d, action)
	case trust.WriteAggregateSecret, trust.WriteAggregateConfigMap:
	}
	return "", fmt.Errorf("action %q is unknown", action.Kind)
}

// withoutVersion says whether an action may have no resource version: it makes the object if it does not exist, or goes by
// the object's UID.
func withoutVersion(kind trust.ActionKind) bool {
	switch kind {
	case trust.GenerateActive, trust.GenerateNext, trust.IssueLeaf, trust.PublishAnchors, trust.RecordRoster, trust.ClearRequest,
		trust.WriteAggregateSecret, trust.WriteAggregateConfigMap:
		return true
	case trust.Promote, trust.RetireAnchors, trust.DestroyPrevious, trust.DropNext, trust.RecordMetadata:
	}
	return false
}

// writeSecret makes one write of one Secret. It starts from the live Secret, which has to be the one that was decided
// on, or from an empty one of type secretType if the action creates it. A change that changes nothing is not written.
func (c *Controller) writeSecret(ctx context.Context, namespace string, action *trust.Action, secretType corev1.SecretType,
	change func(*corev1.Secret) error,
) (string, error) {
	if action.ResourceVersion == "" {
		return c.createSecret(ctx, namespace, action, secretType, change)
	}
	secrets := c.client.CoreV1().Secrets(namespace)
	live, err := secrets.Get(ctx, action.Object, metav1.GetOptions{})
	if err != nil {
		return "", stale(err)
	}
	if live.ResourceVersion != action.ResourceVersion {
		return "", errStale
	}
	changed := live.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	applyMetadata(&changed.ObjectMeta, action, trust.Metadata{})
	if err := change(changed); err != nil {
		return "", err
	}
	if equality.Semantic.DeepEqual(live, changed) {
		return live.ResourceVersion, nil
	}
	written, err := secrets.Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbUpdate, "secrets", err); err != nil {
		return "", stale(err)
	}
	c.announce(written, action)
	return written.ResourceVersion, nil
}

func (c *Controller) createSecret(ctx context.Context, namespace string, action *trust.Action, secretType corev1.SecretType,
	change func(*corev1.Secret) error,
) (string, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Object},
		Type:       secretType,
		Data:       map[string][]byte{},
	}
	applyMetadata(&secret.ObjectMeta, action, trust.Metadata{})
	if err := change(secret); err != nil {
		return "", err
	}
	written, err := c.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbCreate, "secrets", err); err != nil {
		return "", err
	}
	c.announce(written, action)
	return written.ResourceVersion, nil
}

// writeConfigMap is writeSecret for a ConfigMap.
func (c *Controller) writeConfigMap(ctx context.Context, namespace string, action *trust.Action,
	change func(*corev1.ConfigMap) error,
) (string, error) {
	if action.ResourceVersion == "" {
		return c.createConfigMap(ctx, namespace, action, change)
	}
	configMaps := c.client.CoreV1().ConfigMaps(namespace)
	live, err := configMaps.Get(ctx, action.Object, metav1.GetOptions{})
	if err != nil {
		return "", stale(err)
	}
	if live.ResourceVersion != action.ResourceVersion {
		return "", errStale
	}
	changed := live.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	applyMetadata(&changed.ObjectMeta, action, trust.Metadata{})
	if err := change(changed); err != nil {
		return "", err
	}
	if equality.Semantic.DeepEqual(live, changed) {
		return live.ResourceVersion, nil
	}
	written, err := configMaps.Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbUpdate, "configmaps", err); err != nil {
		return "", stale(err)
	}
	c.announce(written, action)
	return written.ResourceVersion, nil
}

func (c *Controller) createConfigMap(ctx context.Context, namespace string, action *trust.Action,
	change func(*corev1.ConfigMap) error,
) (string, error) {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Object},
		Data:       map[string]string{},
	}
	applyMetadata(&configMap.ObjectMeta, action, trust.Metadata{})
	if err := change(configMap); err != nil {
		return "", err
	}
	written, err := c.client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap, metav1.CreateOptions{FieldManager: FieldManager})
	if err := c.wrote(verbCreate, "configmaps", err); err != nil {
		return "", err
	}
	c.announce(written, action)
	return written.ResourceVersion, nil
}

// stale turns the absence of an object that was decided on into errStale.
func stale(err error) error {
	if apierrors.IsNotFound(err) {
		return errStale
	}
	return err
}
