// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// errEmptyBundle stands behind NeverEmpty: whatever the decision was, an empty bundle is not written.
var errEmptyBundle = errors.New("refusing to write a bundle without anchors")

// writeBundle writes the anchors of a bundle in the order of the action.
func (c *Controller) writeBundle(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	if len(action.Anchors) == 0 {
		return "", errEmptyBundle
	}
	return c.writeConfigMap(ctx, d.Namespace, action, func(configMap *corev1.ConfigMap) error {
		configMap.Data[inventory.BundleKey] = string(pki.EncodeCertificates(action.Anchors...))
		return nil
	})
}
