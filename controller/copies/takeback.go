// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/view/inventory"
)

// deleteCopy removes what was copied, regardless of the state of the source, and deletes the object. If others have
// added keys, or the controller may not delete, it only removes the copied keys and the mark.
func (c *Controller) deleteCopy(ctx context.Context, k key, to kubernetes.Interface) error {
	if c.watches.sees(k.target) && c.watches.version(k.target) == "" {
		return nil
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	take := c.takeBackConfigMap
	if k.kind == configv1alpha1.CopySecret {
		take = c.takeBackSecret
	}
	took, err := take(writing, k, to)
	c.memory.update(k, func(s *state) { s.wanted, s.version, s.anchors = "", "", nil })
	if err != nil {
		return fmt.Errorf("take back the copy %s: %w", k, err)
	}
	if took {
		klog.FromContext(ctx).Info("Took a copy back")
	}
	return nil
}

func (c *Controller) takeBackSecret(ctx context.Context, k key, to kubernetes.Interface) (bool, error) {
	object, exists, err := c.secrets(to, k.namespace).Get(ctx, k.name)
	if err != nil || !exists || !isCopyFrom(object, k) {
		return false, err
	}
	left, copied := object.DeepCopy(), map[string][]byte{}
	for _, name := range leafKeys() {
		if value, ok := object.Data[name]; ok {
			copied[name] = value
			delete(left.Data, name)
		}
	}
	delete(left.Data, contenthash.SupersededKey)
	if o := unlikeCopied(k, object, rotation.ContentHash(copied)); o != nil {
		return false, o
	}
	alone := len(left.Data) == 0
	if left.Type == corev1.SecretTypeTLS {
		// The API server requires both keys, and accepts empty values.
		left.Data = with(left.Data, map[string][]byte{inventory.ActiveCertKey: {}, inventory.ActiveKeyKey: {}})
	}
	unmark(&left.ObjectMeta, k.target)
	return deleteOrEmpty(ctx, c.secrets(to, k.namespace), left, alone)
}

func (c *Controller) takeBackConfigMap(ctx context.Context, k key, to kubernetes.Interface) (bool, error) {
	object, exists, err := c.configMaps(to, k.namespace).Get(ctx, k.name)
	if err != nil || !exists || !isCopyFrom(object, k) {
		return false, err
	}
	if o := unlikeCopied(k, object, bundleHash(object)); o != nil {
		return false, o
	}
	left := object.DeepCopy()
	delete(left.Data, inventory.BundleKey)
	delete(left.Data, contenthash.SupersededKey)
	unmark(&left.ObjectMeta, k.target)
	return deleteOrEmpty(ctx, c.configMaps(to, k.namespace), left, len(left.Data)+len(left.BinaryData) == 0)
}

// deleteOrEmpty deletes an object as it was read, if alone is set and the controller may delete. Otherwise it writes
// left.
func deleteOrEmpty[T apply.Object[T]](ctx context.Context, to apply.Writer[T], left T, alone bool) (bool, error) {
	if alone {
		if err := to.Delete(ctx, left.GetName(), left.GetUID(), left.GetResourceVersion()); !apierrors.IsForbidden(err) {
			return err == nil, err
		}
	}
	_, err := to.Update(ctx, left)
	return err == nil, err
}

// unlikeCopied reports that something else has replaced the content of the copy. That content is not ours to remove.
func unlikeCopied(k key, object metav1.Object, hash string) *obstacle {
	if object.GetAnnotations()[rotation.AnnotationContentHash] == hash {
		return nil
	}
	return obstruct("%s/%s in %s is not wanted there any more, and is not taken back because others have changed it; delete it, or take the label %s from it",
		k.kind, k.name, k.place(), k.label())
}
