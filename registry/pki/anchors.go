// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// Anchors are the trust anchors of a PEM.
type Anchors struct {
	// Certificates in their order, each once.
	Certificates []*Certificate
	// Repeats reports whether a CA is there more than once.
	Repeats bool
	// Unread are the blocks that hold a certificate which other verifiers may read and this package cannot, such as one
	// with a negative serial number. They prove nothing, and EncodeAnchors keeps them.
	Unread []UnreadBlock
}

// UnreadBlock is a CERTIFICATE block that this package cannot read.
type UnreadBlock struct {
	// Number of the block in its PEM, from 1.
	Number int
	// Fingerprint of its content.
	Fingerprint Fingerprint

	err error
	der []byte
}

// Error names the block by its place, and says why it is not read.
func (b *UnreadBlock) Error() string { return fmt.Sprintf("block %d: %v", b.Number, b.err) }

// Unwrap returns ErrInvalidCertificate or ErrTooLarge, wrapped.
func (b *UnreadBlock) Unwrap() error { return b.err }

// ParseBundle reads the trust anchors of a PEM. Unlike ParseChain, it returns ErrEmptyBundle for a PEM without
// certificates, and returns a duplicate once, at its first place.
func ParseBundle(data []byte) ([]*Certificate, error) {
	certs, err := ParseChain(data)
	if errors.Is(err, ErrNoCertificate) {
		return nil, ErrEmptyBundle
	}
	return Distinct(certs), err
}

// ParseAnchors is ParseBundle for a PEM that may have blocks which only other verifiers can read. It fails as
// ParseBundle does if no block can be read.
func ParseAnchors(data []byte) (Anchors, error) {
	certs, unread, err := parseBlocks(data, ParseCertificate)
	return anchorsOf(certs, unread, err)
}

func anchorsOf(certs []*Certificate, unread []UnreadBlock, err error) (Anchors, error) {
	if err == nil && len(certs) == 0 {
		_, err = whole(certs, unread, nil)
	}
	switch {
	case errors.Is(err, ErrNoCertificate):
		return Anchors{}, ErrEmptyBundle
	case err != nil:
		return Anchors{}, err
	}
	out := Anchors{Certificates: Distinct(certs), Unread: unread}
	if len(out.Certificates) < len(certs) {
		cas := slices.DeleteFunc(slices.Clone(certs), func(c *Certificate) bool { return !c.IsCA })
		out.Repeats = len(Distinct(cas)) < len(cas)
	}
	return out, nil
}

// EncodeAnchors writes anchors in place of those of a former PEM. The blocks that it cannot read stay, each behind as
// many certificates as before: some programs read the first block only.
func EncodeAnchors(former []byte, anchors ...*Certificate) []byte {
	_, unread, err := parseBlocks(former, ParseCertificate)
	if err != nil {
		unread = nil
	}
	return EncodeBeside(unread, anchors...)
}

// EncodeBeside is EncodeAnchors with the blocks of the former PEM that cannot be read.
func EncodeBeside(unread []UnreadBlock, anchors ...*Certificate) []byte {
	var out []byte
	for number := 1; len(anchors)+len(unread) > 0; number++ {
		if len(unread) > 0 && (unread[0].Number <= number || len(anchors) == 0) {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: unread[0].der})...)
			unread = unread[1:]
			continue
		}
		out = append(out, anchors[0].PEM()...)
		anchors = anchors[1:]
	}
	return out
}
