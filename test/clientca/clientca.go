// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientca makes a CA that may sign client leaves only. certrotation makes none, but may find one that a
// person has put into a Secret.
package clientca

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"certrotation.dev/registry/pki"
)

const validity = 5 * 365 * 24 * time.Hour

// New returns a CA with a subject of its own. It is valid for years, and for clocks that are a little behind.
func New(now time.Time) (*pki.Pair, error) {
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprintf("for clients@%d", now.Unix())},
		NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a CA for clients: %w", err)
	}
	return pki.PairOf(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key)
}
