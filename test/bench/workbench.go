// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"certrotation.dev/registry/pki"
)

// workbench has what the steps of an issuance need, with registry/pki and with the standard library alone.
type workbench struct {
	key    pki.KeyAlgorithm
	ca     *pki.Pair
	parent *x509.Certificate
	signer crypto.Signer
	// leaf is the key that generate made last.
	leaf crypto.Signer
}

func newWorkbench(key pki.KeyAlgorithm) (*workbench, error) {
	w := &workbench{key: key}
	var err error
	if w.ca, err = pki.NewAuthority(pki.Profile{CommonName: "bench", Key: key, Validity: time.Hour}, time.Now()); err != nil {
		return nil, err
	}
	if w.signer, err = pki.GenerateKey(key); err != nil {
		return nil, err
	}
	// The template has the name and times of a real CA.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, SubjectKeyId: make([]byte, 20),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, w.signer.Public(), w.signer)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	if w.parent, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return w, nil
}

func (w *workbench) generate() (err error) {
	w.leaf, err = pki.GenerateKey(w.key)
	return err
}

// create does the minimum of an issuance with the standard library.
func (w *workbench) create() error {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1 << 40), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: now, NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, SubjectKeyId: make([]byte, 20),
	}
	if _, err := x509.CreateCertificate(rand.Reader, template, w.parent, w.leaf.Public(), w.signer); err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	return nil
}

func (w *workbench) issue() error {
	_, err := w.ca.Issue(leafProfile("leaf", w.key), time.Now())
	return err
}

// sign signs a message of the length of a certificate, as crypto/x509 does.
func (w *workbench) sign(times int) error {
	message := make([]byte, 500)
	for range times {
		digest, hash := message, crypto.Hash(0)
		if _, ok := w.signer.(ed25519.PrivateKey); !ok {
			sum := sha256.Sum256(message)
			digest, hash = sum[:], crypto.SHA256
		}
		if _, err := w.signer.Sign(rand.Reader, digest, hash); err != nil {
			return fmt.Errorf("sign: %w", err)
		}
	}
	return nil
}
