// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
)

// ParseChain reads all certificates of a PEM in their order, duplicates included. It fails as a whole, with
// ErrNoCertificate, ErrMalformedPEM, ErrBlockType, ErrInvalidCertificate or ErrTooLarge. The message counts blocks
// from 1.
func ParseChain(data []byte) ([]*Certificate, error) {
	return parseChain(data, ParseCertificate)
}

// ParseBundle reads the trust anchors of a PEM. Unlike ParseChain, it returns ErrEmptyBundle for a PEM without
// certificates, and returns a duplicate once, at its first place.
func ParseBundle(data []byte) ([]*Certificate, error) {
	anchors, _, err := ParseAnchors(data)
	return anchors, err
}

// ParseAnchors is ParseBundle, and reports whether the PEM has duplicates.
func ParseAnchors(data []byte) (anchors []*Certificate, repeats bool, err error) {
	certs, err := ParseChain(data)
	if errors.Is(err, ErrNoCertificate) {
		return nil, false, ErrEmptyBundle
	}
	if err != nil {
		return nil, false, err
	}
	anchors = Distinct(certs)
	return anchors, len(anchors) < len(certs), nil
}

// EncodeCertificates writes the certificates as a PEM, in the given order. Without certificates it returns no bytes.
func EncodeCertificates(certs ...*Certificate) []byte {
	var out bytes.Buffer
	for _, cert := range certs {
		out.Write(cert.PEM())
	}
	return out.Bytes()
}

// parseChain is ParseChain with a parser for each certificate.
func parseChain(data []byte, parse func(der []byte) (*Certificate, error)) ([]*Certificate, error) {
	var certs []*Certificate
	err := eachBlock(data, func(block *pem.Block) error {
		der, err := certificateBlock(block)
		if err != nil {
			return err
		}
		if len(certs) == MaxCertificates {
			return fmt.Errorf("more than %d certificates: %w", MaxCertificates, ErrTooLarge)
		}
		cert, err := parse(der)
		if err != nil {
			return err
		}
		certs = append(certs, cert)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("parse certificates: %w", err)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("parse certificates: %w", ErrNoCertificate)
	}
	return certs, nil
}

// certificateBlock returns the DER of a CERTIFICATE block. It refuses headers: x509.CertPool skips such a block, so
// the certificate would look trusted but would not be.
func certificateBlock(block *pem.Block) ([]byte, error) {
	if block.Type != blockCertificate {
		return nil, fmt.Errorf("%w: want %s, it is %s", ErrBlockType, blockCertificate, describe(block.Type))
	}
	if len(block.Headers) > 0 {
		return nil, fmt.Errorf("%w: a %s may not have headers", ErrBlockType, blockCertificate)
	}
	return block.Bytes, nil
}

// Distinct returns the first of equal certificates, in order.
func Distinct(certs []*Certificate) []*Certificate {
	seen := make(map[Fingerprint]bool, len(certs))
	var kept []*Certificate
	for _, cert := range certs {
		if !seen[cert.Fingerprint] {
			seen[cert.Fingerprint] = true
			kept = append(kept, cert)
		}
	}
	return kept
}
