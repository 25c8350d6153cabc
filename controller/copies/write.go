// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func (c *Controller) secrets(to kubernetes.Interface, namespace string) apply.Writer[*corev1.Secret] {
	return apply.To(to.CoreV1().Secrets(namespace), "secrets", c.by)
}

func (c *Controller) configMaps(to kubernetes.Interface, namespace string) apply.Writer[*corev1.ConfigMap] {
	return apply.To(to.CoreV1().ConfigMaps(namespace), "configmaps", c.by)
}

// write updates a copy after live reads. It returns the assessment that it used, and whether it wrote.
func (c *Controller) write(ctx context.Context, t *task) (*trust.CopyAssessment, bool, error) {
	write := c.writeConfigMap
	if t.key.kind == configv1alpha1.CopySecret {
		write = c.writeSecret
	}
	a, object, wrote, err := write(ctx, t)
	if err != nil {
		return a, false, err
	}
	wanted := t.wanted(a)
	c.memory.update(t.key, func(s *state) { s.wanted, s.version, s.anchors = wanted, object.GetResourceVersion(), a.Anchors })
	return a, wrote, nil
}

func (c *Controller) writeConfigMap(ctx context.Context, t *task) (*trust.CopyAssessment, metav1.Object, bool, error) {
	a := &trust.CopyAssessment{}
	source, err := c.client.CoreV1().ConfigMaps(t.key.from).Get(ctx, t.copy.Name, metav1.GetOptions{})
	if err == nil && source.ResourceVersion != t.sourceVersion() {
		err = apply.ErrStale
	}
	if err != nil {
		return a, nil, false, apply.Stale(err)
	}
	object, wrote, err := c.configMaps(t.to, t.key.namespace).Write(ctx, &corev1.ConfigMap{ObjectMeta: t.key.meta()}, apply.Any,
		func(object *corev1.ConfigMap, exists bool) error {
			if o := foreign(t, object); exists && o != nil {
				return o
			}
			held := anchorsOf(object)
			a = t.assess(state{anchors: held.Certificates})
			fillConfigMap(object, held, t, source, a)
			return nil
		})
	return a, object, wrote, uncreated(t, err)
}

// anchorsOf are the anchors of a bundle, none if it cannot be parsed: it is then useless and is replaced.
func anchorsOf(configMap *corev1.ConfigMap) pki.Anchors {
	anchors, err := pki.ParseAnchors(bundleText(configMap))
	if err != nil {
		return pki.Anchors{}
	}
	return anchors
}

func bundleText(configMap *corev1.ConfigMap) []byte {
	if text, ok := configMap.Data[inventory.BundleKey]; ok {
		return []byte(text)
	}
	return configMap.BinaryData[inventory.BundleKey]
}

// fillConfigMap writes the anchors of the copy, with the blocks of the source that cannot be read. If it already holds
// them, the text stays, even if it is formatted differently: a changed comment must not cause a rollout.
func fillConfigMap(object *corev1.ConfigMap, held pki.Anchors, t *task, source *corev1.ConfigMap, a *trust.CopyAssessment) {
	former := object.DeepCopy()
	_, text := object.Data[inventory.BundleKey]
	same := slices.EqualFunc(held.Certificates, a.Anchors, (*pki.Certificate).Equal) &&
		slices.EqualFunc(held.Unread, anchorsOf(source).Unread, func(a, b pki.UnreadBlock) bool { return a.Fingerprint == b.Fingerprint })
	if !text || !same {
		delete(object.BinaryData, inventory.BundleKey)
		object.Data = with(object.Data, map[string]string{inventory.BundleKey: string(pki.EncodeAnchors(bundleText(source), a.Anchors...))})
	}
	contenthash.SupersedeConfigMap(object, former)
	mark(&object.ObjectMeta, t, &source.ObjectMeta, bundleHash(object))
}

// bundleHash is the hash of the copied content.
func bundleHash(object *corev1.ConfigMap) string {
	return rotation.ContentHash(map[string]string{inventory.BundleKey: object.Data[inventory.BundleKey]})
}

func (c *Controller) writeSecret(ctx context.Context, t *task) (*trust.CopyAssessment, metav1.Object, bool, error) {
	a := t.assess(state{})
	source, err := c.sourceSecret(ctx, t)
	if err != nil {
		return a, nil, false, err
	}
	object, wrote, err := c.secrets(t.to, t.key.namespace).Write(ctx, &corev1.Secret{ObjectMeta: t.key.meta(), Type: corev1.SecretTypeTLS}, apply.Any,
		func(object *corev1.Secret, exists bool) error {
			if o := foreign(t, object); exists && o != nil {
				return o
			}
			if o := mistyped(t, object); o != nil {
				return o
			}
			fillSecret(object, t, source)
			return nil
		})
	return a, object, wrote, uncreated(t, err)
}

// sourceSecret reads the leaf, and checks that it is the version of the decision and that its key matches.
func (c *Controller) sourceSecret(ctx context.Context, t *task) (*corev1.Secret, error) {
	leaf := t.domain.Leaf(t.copy.Name)
	source, err := c.client.CoreV1().Secrets(t.key.from).Get(ctx, leaf.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, apply.Stale(err)
	case source.ResourceVersion != leaf.ResourceVersion:
		return nil, apply.ErrStale
	}
	certs, err := pki.CheckPair(source.Data[inventory.ActiveCertKey], source.Data[inventory.ActiveKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read leaf %s/%s: %w", t.key.from, leaf.Name, err)
	}
	if certs[0].Fingerprint != leaf.Certificate.Fingerprint {
		return nil, apply.ErrStale
	}
	return source, nil
}

func leafKeys() []string {
	return []string{inventory.ActiveCertKey, inventory.ActiveKeyKey, inventory.AuthorityKey}
}

// fillSecret copies the keys of a leaf, and removes those that the source lacks.
func fillSecret(object *corev1.Secret, t *task, source *corev1.Secret) {
	former, copied := object.DeepCopy(), map[string][]byte{}
	for _, name := range leafKeys() {
		delete(object.Data, name)
		if value, ok := source.Data[name]; ok {
			copied[name] = value
		}
	}
	object.Data = with(object.Data, copied)
	contenthash.SupersedeSecret(object, former)
	mark(&object.ObjectMeta, t, &source.ObjectMeta, rotation.ContentHash(copied))
}
