// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"encoding/pem"
	"fmt"
)

// ParseChain reads all certificates of a PEM in their order, duplicates included. It fails as a whole, with
// ErrNoCertificate, ErrMalformedPEM, ErrBlockType, ErrInvalidCertificate or ErrTooLarge. The message counts blocks
// from 1.
func ParseChain(data []byte) ([]*Certificate, error) {
	certs, unread, err := parseBlocks(data, ParseCertificate)
	return whole(certs, unread, err)
}

// whole refuses certificates beside unread blocks.
func whole(certs []*Certificate, unread []UnreadBlock, err error) ([]*Certificate, error) {
	switch {
	case err != nil:
		return nil, err
	case len(unread) > 0:
		return nil, fmt.Errorf("parse certificates: %w", &unread[0])
	}
	return certs, nil
}

// EncodeCertificates writes the certificates as a PEM, in the given order. Without certificates it returns no bytes.
func EncodeCertificates(certs ...*Certificate) []byte {
	var out bytes.Buffer
	for _, cert := range certs {
		out.Write(cert.PEM())
	}
	return out.Bytes()
}

// parseBlocks reads the certificates of a PEM with a parser for each, and returns the blocks that the parser refuses.
// It fails with ErrNoCertificate only if there is no such block either.
func parseBlocks(data []byte, parse func(der []byte) (*Certificate, error)) (certs []*Certificate, unread []UnreadBlock, err error) {
	number := 0
	err = eachBlock(data, func(block *pem.Block) error {
		der, err := certificateBlock(block)
		if err != nil {
			return err
		}
		if number == MaxCertificates {
			return fmt.Errorf("more than %d certificates: %w", MaxCertificates, ErrTooLarge)
		}
		number++
		if cert, refused := parse(der); refused == nil {
			certs = append(certs, cert)
		} else {
			unread = append(unread, UnreadBlock{Number: number, Fingerprint: fingerprintOf(der), err: refused, der: der})
		}
		return nil
	})
	if err == nil && number == 0 {
		err = ErrNoCertificate
	}
	if err != nil {
		return nil, nil, fmt.Errorf("parse certificates: %w", err)
	}
	return certs, unread, nil
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
