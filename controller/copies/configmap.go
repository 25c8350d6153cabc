// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func (c *Controller) writeConfigMap(ctx context.Context, t *task) (*trust.CopyAssessment, bool, error) {
	source, err := c.client.CoreV1().ConfigMaps(t.key.from).Get(ctx, t.copy.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || (err == nil && source.ResourceVersion != t.sourceVersion()) {
		err = errStale
	}
	if err != nil {
		return &trust.CopyAssessment{}, false, err
	}
	configMaps := c.client.CoreV1().ConfigMaps(t.key.namespace)
	object, err := configMaps.Get(ctx, t.key.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		a := t.assess(state{})
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.key.namespace, Name: t.key.name}}
		fillConfigMap(made, nil, t, source, a)
		written, err := configMaps.Create(ctx, made, metav1.CreateOptions{FieldManager: FieldManager})
		c.metrics.wrote("configmaps", err)
		if err != nil {
			return a, false, uncreated(t, err)
		}
		c.settle(t, a, written.ResourceVersion)
		return a, true, nil
	}
	if err != nil {
		return &trust.CopyAssessment{}, false, err
	}
	if o := foreign(t, object); o != nil {
		return &trust.CopyAssessment{}, false, o
	}
	held := anchorsOf(object)
	a := t.assess(state{anchors: held})
	changed := object.DeepCopy()
	fillConfigMap(changed, held, t, source, a)
	if equality.Semantic.DeepEqual(object, changed) {
		c.settle(t, a, object.ResourceVersion)
		return a, false, nil
	}
	written, err := configMaps.Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
	c.metrics.wrote("configmaps", err)
	if err != nil {
		return a, false, err
	}
	c.settle(t, a, written.ResourceVersion)
	return a, true, nil
}

// anchorsOf are those of a bundle that can be read. What cannot be read is of use to nobody and is replaced.
func anchorsOf(configMap *corev1.ConfigMap) []*pki.Certificate {
	text, ok := configMap.Data[inventory.BundleKey]
	if !ok {
		text = string(configMap.BinaryData[inventory.BundleKey])
	}
	anchors, err := pki.ParseBundle([]byte(text))
	if err != nil {
		return nil
	}
	return anchors
}

// fillConfigMap writes the anchors that the copy is to hold. If it holds them already, in whatever text, the text stays:
// whoever rolls out changes of it need not do so for a comment.
func fillConfigMap(object *corev1.ConfigMap, held []*pki.Certificate, t *task, source *corev1.ConfigMap, a *trust.CopyAssessment) {
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	_, text := object.Data[inventory.BundleKey]
	if !text || !slices.EqualFunc(held, a.Anchors, (*pki.Certificate).Equal) {
		delete(object.BinaryData, inventory.BundleKey)
		object.Data[inventory.BundleKey] = string(pki.EncodeCertificates(a.Anchors...))
	}
	mark(&object.ObjectMeta, t, &source.ObjectMeta, bundleHash(object))
}

// bundleHash names the content of what is copied.
func bundleHash(object *corev1.ConfigMap) string {
	return rotation.ContentHash(map[string]string{inventory.BundleKey: object.Data[inventory.BundleKey]})
}
