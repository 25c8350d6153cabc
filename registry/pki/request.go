// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
)

const blockRequest = "CERTIFICATE REQUEST"

// AuthorityRequest is a request that another authority sign a CA (PKCS #10). ParseRequest and NewRequest make it.
type AuthorityRequest struct {
	// Subject is RFC 2253 text, for people.
	Subject string
	// PublicKeyHash is as that of a Certificate.
	PublicKeyHash string

	der []byte
}

// PEM returns the request as one block with a trailing newline.
func (r *AuthorityRequest) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: r.der})
}

// NewRequest makes a key and a request for an authority that may sign leaves only. It uses CommonName, which is
// required, Organizations and Key of the profile: the other authority decides about the rest. The key is a PKCS#8 PEM.
func NewRequest(p Profile) (request *AuthorityRequest, keyPEM []byte, err error) {
	if p.CommonName == "" {
		return nil, nil, fmt.Errorf("make request: %w: it needs a common name", ErrInvalidProfile)
	}
	key, err := GenerateKey(p.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	asked, err := authorityExtensions()
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: p.subject(), ExtraExtensions: asked}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	if request, err = parseRequest(der); err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	if keyPEM, err = (&Pair{key: seal(key)}).KeyPEM(); err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	return request, keyPEM, nil
}

// authorityExtensions asks for a CA of path length 0 that signs certificates and revocation lists, as NewAuthority makes
// it. The other authority copies them, or sets its own.
func authorityExtensions() ([]pkix.Extension, error) {
	constraints, err := asn1.Marshal(struct {
		IsCA       bool
		PathLength int
	}{IsCA: true})
	if err != nil {
		return nil, err
	}
	usage, err := asn1.Marshal(asn1.BitString{Bytes: []byte{0x86}, BitLength: 7}) // digitalSignature, keyCertSign, cRLSign
	if err != nil {
		return nil, err
	}
	return []pkix.Extension{
		{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: constraints},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Critical: true, Value: usage},
	}, nil
}

// ParseRequest reads the one request of a PEM. It fails with ErrNoCertificate, ErrMalformedPEM, ErrBlockType,
// ErrInvalidCertificate or ErrTooLarge.
func ParseRequest(data []byte) (*AuthorityRequest, error) {
	var out *AuthorityRequest
	err := eachBlock(data, func(block *pem.Block) error {
		if block.Type != blockRequest || out != nil {
			return fmt.Errorf("%w: want one %s, there is %s", ErrBlockType, blockRequest, describe(block.Type))
		}
		var err error
		out, err = parseRequest(block.Bytes)
		return err
	})
	if err == nil && out == nil {
		err = ErrNoCertificate
	}
	if err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	return out, nil
}

func parseRequest(der []byte) (*AuthorityRequest, error) {
	if len(der) > maxCertificateBytes {
		return nil, fmt.Errorf("request of %d bytes: %w", len(der), ErrTooLarge)
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no PKCS #10", ErrInvalidCertificate)
	}
	if len(request.RawSubject) > maxNameBytes || !algorithmOf(request.PublicKey).Valid() {
		return nil, fmt.Errorf("subject of %d bytes, key %s: %w", len(request.RawSubject), algorithmOf(request.PublicKey), ErrTooLarge)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: its own key has not signed it", ErrInvalidCertificate)
	}
	return &AuthorityRequest{
		Subject: request.Subject.String(), PublicKeyHash: hexSHA256(request.RawSubjectPublicKeyInfo), der: request.Raw,
	}, nil
}

// CheckKey returns why a PEM is not the private key of the request. It fails as ParsePair does for a key.
func (r *AuthorityRequest) CheckKey(keyPEM []byte) error {
	key, err := parseKey(keyPEM)
	if err != nil {
		return err
	}
	if err := checkKey(&Certificate{PublicKeyHash: r.PublicKeyHash}, key); err != nil {
		return fmt.Errorf("key of the request for %s: %w", r.Subject, err)
	}
	return nil
}
