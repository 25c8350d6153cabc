// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// renewsActive renews the active CA with its key and its name.
func (w *world) renewsActive(d *trust.Domain) *edit {
	live := w.api.secrets[d.Signer.Name]
	if live == nil || d.Signer.Active == nil || d.Signer.Problem != nil {
		return nil
	}
	pair, err := renewedWithItsKey(live.Data[inventory.ActiveCertKey], live.Data[inventory.ActiveKeyKey], w.clock.now())
	if err != nil {
		w.breaks(fmt.Errorf("renew the active CA of %s with its key: %w", d.Signer.Name, err))
		return nil
	}
	return &edit{
		what: "renews the active CA of " + d.Signer.Name + " with its key", kind: trust.SecretKind, name: d.Signer.Name,
		secret: func(s *corev1.Secret) bool { return fill(s, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair) },
	}
}

func renewedWithItsKey(certPEM, keyPEM []byte, now time.Time) (*pki.Pair, error) {
	cert, key := first(certPEM), first(keyPEM)
	template, err := x509.ParseCertificate(cert)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("its key does not sign")
	}
	validity := template.NotAfter.Sub(template.NotBefore)
	template.SerialNumber, template.NotBefore = big.NewInt(now.UnixNano()), now.Add(-5*time.Minute)
	template.NotAfter = template.NotBefore.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return nil, err
	}
	return pki.ParsePair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM)
}

// first is the content of the first block of a PEM, nil if there is none.
func first(text []byte) []byte {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	return block.Bytes
}
