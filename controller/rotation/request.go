// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// requestAuthority makes the key of the next CA of an intermediate, and a request for its certificate. The annotations
// continue to describe the active CA.
func (c *Controller) requestAuthority(secret *corev1.Secret, d *trust.Domain, action *trust.Action) error {
	request, key, err := pki.NewRequest(c.nextGeneration(d, action))
	if err != nil {
		return err
	}
	secret.Data[inventory.RequestCSRKey], secret.Data[inventory.RequestKeyKey] = request.PEM(), key
	return nil
}

// installNext moves the requested key into the slot next, with the CA that was signed for it and the path to its root.
func installNext(secret *corev1.Secret, certs []*pki.Certificate) error {
	request, fault := inventory.RequestIn(secret.Data)
	if fault != nil {
		return fault
	}
	if request == nil {
		return apply.ErrStale
	}
	at := slices.IndexFunc(certs, func(cert *pki.Certificate) bool { return cert.PublicKeyHash == request.PublicKeyHash })
	if at < 0 {
		return fmt.Errorf("install the CA that was requested as %s: %w", request.Subject, errAnotherKey)
	}
	ca, known := certs[at], slices.Concat(certs, inventory.HeldIssuers(secret.Data))
	pair, err := pki.ParsePair(pki.EncodeCertificates(append([]*pki.Certificate{ca}, ca.Path(known, 0)...)...), secret.Data[inventory.RequestKeyKey])
	if err != nil {
		return fmt.Errorf("install the CA %s: %w", ca.Fingerprint, err)
	}
	inventory.DropRequest(secret.Data)
	return inventory.NextSlot.Put(secret.Data, pair)
}

var errAnotherKey = errors.New("none of the certificates is for the requested key")
