// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// writeMetadata brings annotations and labels up to date and leaves the content alone.
func (c *Controller) writeMetadata(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	if action.ObjectKind == trust.ConfigMapKind {
		return c.writeConfigMap(ctx, d.Namespace, action, func(*corev1.ConfigMap) error { return nil })
	}
	return c.writeSecret(ctx, d.Namespace, action, corev1.SecretTypeTLS, func(*corev1.Secret) error { return nil })
}

// applyMetadata removes and sets what the action says, and sets what describes a certificate that was just made. All
// other annotations and labels stay.
func applyMetadata(meta *metav1.ObjectMeta, action *trust.Action, made trust.Metadata) {
	for _, name := range action.RemoveAnnotations {
		delete(meta.Annotations, name)
	}
	meta.Annotations = merged(meta.Annotations, action.Annotations, made.Annotations)
	meta.Labels = merged(meta.Labels, action.Labels, made.Labels)
}

func merged(into map[string]string, from ...map[string]string) map[string]string {
	for _, m := range from {
		if into == nil && len(m) > 0 {
			into = make(map[string]string, len(m))
		}
		maps.Copy(into, m)
	}
	return into
}
