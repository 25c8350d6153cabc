// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// setSlot stores pairs under two keys, concatenated in order.
func setSlot(secret *corev1.Secret, certKey, keyKey string, pairs ...*pki.Pair) error {
	var certs, keys []byte
	for _, pair := range pairs {
		key, err := pair.KeyPEM()
		if err != nil {
			return fmt.Errorf("encode the key for %s: %w", certKey, err)
		}
		certs, keys = append(certs, pair.Certificate.PEM()...), append(keys, key...)
	}
	secret.Data[certKey], secret.Data[keyKey] = certs, keys
	return nil
}

// keepActiveKeys makes sure that the keys exist which the Secret type demands, though the slot may be empty.
func keepActiveKeys(secret *corev1.Secret) {
	for _, name := range []string{inventory.ActiveCertKey, inventory.ActiveKeyKey} {
		if secret.Data[name] == nil {
			secret.Data[name] = []byte{}
		}
	}
}

// generations are all CAs of a domain whose names are taken.
func generations(d *trust.Domain) []*pki.Certificate {
	return slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors)
}
