// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

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
