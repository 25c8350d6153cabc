// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/signer"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// writeLeaf signs a new pair for a leaf and stores it with its signer and the anchors of the bundle, in one write.
func (c *Controller) writeLeaf(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	leaf := d.Leaf(action.Object)
	if leaf == nil {
		return "", errStale
	}
	return c.writeSecret(ctx, d.Namespace, action, corev1.SecretTypeTLS, func(secret *corev1.Secret) error {
		made, err := c.sign(ctx, d, action)
		if err != nil {
			return err
		}
		key, err := made.KeyPEM()
		if err != nil {
			return fmt.Errorf("encode the key of the leaf: %w", err)
		}
		secret.Data[inventory.ActiveCertKey] = made.CertPEM()
		secret.Data[inventory.ActiveKeyKey] = key
		secret.Data[inventory.AuthorityKey] = pki.EncodeCertificates(d.Bundle.Anchors...)
		applyMetadata(&secret.ObjectMeta, action, trust.MetadataOfLeaf(d.Name, made.Certificate, leaf.Policy, c.clock.Now()))
		return nil
	})
}

// sign reads the signer's key, uses it once and lets go of it.
func (c *Controller) sign(ctx context.Context, d *trust.Domain, action *trust.Action) (*pki.Pair, error) {
	secret, err := c.client.CoreV1().Secrets(d.Namespace).Get(ctx, d.Signer.Name, metav1.GetOptions{})
	if err != nil {
		return nil, stale(err)
	}
	if secret.ResourceVersion != d.Signer.ResourceVersion {
		return nil, errStale
	}
	ca, err := signer.Authority(secret, action.Authority)
	if err != nil {
		return nil, fmt.Errorf("read signer %s/%s: %w", d.Namespace, d.Signer.Name, err)
	}
	return ca.Issue(action.Profile, c.clock.Now())
}
