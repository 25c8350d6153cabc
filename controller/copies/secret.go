// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// write brings a copy up to date on live reads. It returns the assessment that it went by, and whether it wrote.
func (c *Controller) write(ctx context.Context, t *task) (*trust.CopyAssessment, bool, error) {
	if t.key.kind == configv1alpha1.CopySecret {
		return c.writeSecret(ctx, t)
	}
	return c.writeConfigMap(ctx, t)
}

// leafKeys are what is copied of a leaf.
func leafKeys() []string {
	return []string{inventory.ActiveCertKey, inventory.ActiveKeyKey, inventory.AuthorityKey}
}

func (c *Controller) writeSecret(ctx context.Context, t *task) (*trust.CopyAssessment, bool, error) {
	a := t.assess(state{})
	source, err := c.sourceSecret(ctx, t)
	if err != nil {
		return a, false, err
	}
	secrets := c.client.CoreV1().Secrets(t.key.namespace)
	object, err := secrets.Get(ctx, t.key.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		made := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.key.namespace, Name: t.key.name}, Type: corev1.SecretTypeTLS,
		}
		fillSecret(made, t, source)
		written, err := secrets.Create(ctx, made, metav1.CreateOptions{FieldManager: FieldManager})
		c.metrics.wrote("secrets", err)
		if err != nil {
			return a, false, uncreated(t, err)
		}
		c.settle(t, a, written.ResourceVersion)
		return a, true, nil
	}
	if err != nil {
		return a, false, err
	}
	if o := foreign(t, object); o != nil {
		return a, false, o
	}
	if o := mistyped(t, object); o != nil {
		return a, false, o
	}
	changed := object.DeepCopy()
	fillSecret(changed, t, source)
	if equality.Semantic.DeepEqual(object, changed) {
		c.settle(t, a, object.ResourceVersion)
		return a, false, nil
	}
	written, err := secrets.Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
	c.metrics.wrote("secrets", err)
	if err != nil {
		return a, false, err
	}
	c.settle(t, a, written.ResourceVersion)
	return a, true, nil
}

// sourceSecret reads the leaf and checks that it is the one that was decided on, and that its key belongs to it.
func (c *Controller) sourceSecret(ctx context.Context, t *task) (*corev1.Secret, error) {
	leaf := t.domain.Leaf(t.copy.Name)
	source, err := c.client.CoreV1().Secrets(t.key.from).Get(ctx, leaf.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errStale
	case err != nil:
		return nil, err
	case source.ResourceVersion != leaf.ResourceVersion:
		return nil, errStale
	}
	certs, err := pki.CheckPair(source.Data[inventory.ActiveCertKey], source.Data[inventory.ActiveKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read leaf %s/%s: %w", t.key.from, leaf.Name, err)
	}
	if certs[0].Fingerprint != leaf.Certificate.Fingerprint {
		return nil, errStale
	}
	return source, nil
}

// fillSecret takes over what is copied, and what the source does not have of it.
func fillSecret(object *corev1.Secret, t *task, source *corev1.Secret) {
	if object.Data == nil {
		object.Data = map[string][]byte{}
	}
	copied := map[string][]byte{}
	for _, name := range leafKeys() {
		if value, ok := source.Data[name]; ok {
			object.Data[name], copied[name] = value, value
		} else {
			delete(object.Data, name)
		}
	}
	mark(&object.ObjectMeta, t, &source.ObjectMeta, rotation.ContentHash(copied))
}

// settle remembers a copy that is as it should be.
func (c *Controller) settle(t *task, a *trust.CopyAssessment, version string) {
	wanted := t.wanted(a)
	c.memory.update(t.key, func(s *state) { s.wanted, s.version, s.anchors = wanted, version, a.Anchors })
}
