// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"slices"

	"certrotation.dev/registry/pki"
)

// Certificate is a certificate with its key and its signer. The structural hash of a configuration covers its signer,
// so the exported fields must stay as they are.
type Certificate struct {
	Name string

	// CA is nil for a self-signed CA.
	CA                                *Certificate
	CertType                          CertType
	SkipPublishingCACertificate       bool
	IncludeCACertificateInServerChain bool

	// PrivateKey and Certificate are parsed for RSA alone: crypto/ecdsa has internal types for curves, and a Secret's
	// name must not change with them. The PEMs hold the same.
	PrivateKey    crypto.Signer
	PrivateKeyPEM []byte

	Certificate    *x509.Certificate
	CertificatePEM []byte

	pair *pki.Pair
}

// LoadCertificate reads a CA, or a leaf, with its private key.
func LoadCertificate(name string, privateKeyPEM, certificatePEM []byte) (*Certificate, error) {
	pair, err := pki.ParsePair(certificatePEM, privateKeyPEM)
	if err != nil {
		return nil, fmt.Errorf("load certificate %q: %w", name, err)
	}
	out := &Certificate{Name: name, PrivateKeyPEM: privateKeyPEM, CertificatePEM: certificatePEM, pair: pair}
	if out.Certificate, out.PrivateKey, err = parsedRSA(pair, privateKeyPEM); err != nil {
		return nil, fmt.Errorf("load certificate %q: %w", name, err)
	}
	return out, nil
}

// LoadCertificateOutside reads a CA whose private key is not in the cluster.
func LoadCertificateOutside(name string, key crypto.Signer, certificatePEM []byte) (*Certificate, error) {
	pair, err := pki.PairOf(certificatePEM, key)
	if err != nil {
		return nil, fmt.Errorf("load certificate %q: %w", name, err)
	}
	return &Certificate{Name: name, CertificatePEM: certificatePEM, pair: pair}, nil
}

// parsedRSA returns the certificate and the key of a pair, nil for other algorithms.
func parsedRSA(pair *pki.Pair, privateKeyPEM []byte) (*x509.Certificate, crypto.Signer, error) {
	certificate, err := x509.ParseCertificate(pair.Certificate.DER())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: its certificate cannot be read", ErrInvalidData)
	}
	if certificate.PublicKeyAlgorithm != x509.RSA {
		return nil, nil, nil
	}
	key, err := rsaKeyOf(privateKeyPEM)
	if err != nil {
		return nil, nil, err
	}
	return certificate, key, nil
}

func (c *Certificate) take(made *pki.Pair, withKey bool, pkcs int) error {
	c.pair, c.CertificatePEM = made, pki.EncodeCertificates(made.Certificate)
	if !withKey {
		return nil
	}
	encode := made.TraditionalKeyPEM
	if pkcs == PKCS8 {
		encode = made.KeyPEM
	}
	var err error
	c.PrivateKeyPEM, err = encode()
	return err
}

// SecretData implements Data.
func (c *Certificate) SecretData() map[string][]byte {
	out := map[string][]byte{}
	put := func(key string, value []byte) {
		if len(value) > 0 {
			out[key] = value
		}
	}
	if c.CA == nil && c.CertType == CACert {
		put(DataKeyCertificateCA, c.CertificatePEM)
		put(DataKeyPrivateKeyCA, c.PrivateKeyPEM)
		return out
	}
	chain := c.CertificatePEM
	if c.CA != nil && c.CertType == ServerCert && c.IncludeCACertificateInServerChain {
		chain = slices.Concat(chain, c.CA.CertificatePEM)
	}
	put(DataKeyCertificate, chain)
	put(DataKeyPrivateKey, c.PrivateKeyPEM)
	if c.CA != nil && !c.SkipPublishingCACertificate {
		put(DataKeyCertificateCA, c.CA.CertificatePEM)
	}
	return out
}

// Authority returns the certificate in the type of registry/pki.
func (c *Certificate) Authority() *pki.Certificate { return c.pair.Certificate }

var _ fmt.Formatter = Certificate{}

// Format prints the name and withholds the key, for every verb.
func (c Certificate) Format(state fmt.State, _ rune) {
	// A Formatter cannot return an error.
	_, _ = io.WriteString(state, "certificate "+c.Name)
}

// maxRequest bounds a certificate signing request, in bytes.
const maxRequest = 64 << 10

// publicOf returns the public key of a certificate signing request, and verifies that this key has signed it.
func publicOf(requestPEM []byte) (crypto.PublicKey, error) {
	if len(requestPEM) > maxRequest {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrInvalidRequest, maxRequest)
	}
	block, rest := pem.Decode(requestPEM)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		return nil, fmt.Errorf("%w: it is not one CERTIFICATE REQUEST in PEM", ErrInvalidRequest)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be parsed", ErrInvalidRequest)
	}
	if !pki.AlgorithmOf(request.PublicKey).Valid() {
		// This is before the signature is verified, because the author of the request chooses what that costs.
		return nil, fmt.Errorf("%w: %w", ErrInvalidRequest, pki.ErrKeyAlgorithm)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: its key has not signed it", ErrInvalidRequest)
	}
	return request.PublicKey, nil
}
