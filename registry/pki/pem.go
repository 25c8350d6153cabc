// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"encoding/pem"
	"fmt"
)

// Types of PEM blocks.
const (
	blockCertificate  = "CERTIFICATE"
	blockPKCS8        = "PRIVATE KEY"
	blockPKCS1        = "RSA PRIVATE KEY"
	blockSEC1         = "EC PRIVATE KEY"
	blockEncrypted    = "ENCRYPTED PRIVATE KEY"
	blockOpenSSH      = "OPENSSH PRIVATE KEY"
	blockECParameters = "EC PARAMETERS"
)

var (
	pemBegin = []byte("-----BEGIN ")
	pemEnd   = []byte("-----END ")
)

// eachBlock calls visit for each block of data, in order, until visit fails.
//
// pem.Decode skips a damaged block like a comment. Here that is ErrMalformedPEM: every marker must belong to a whole
// block that starts on its own line. This also catches two files joined without a newline. Text between blocks is
// allowed, as openssl and distributions write it. The input is walked once.
func eachBlock(data []byte, visit func(*pem.Block) error) error {
	if len(data) > MaxPEMBytes {
		return fmt.Errorf("PEM of %d bytes: %w", len(data), ErrTooLarge)
	}
	for number := 1; ; number++ {
		block, rest, err := nextBlock(data)
		if err != nil {
			return fmt.Errorf("block %d: %w", number, err)
		}
		if block == nil {
			return nil
		}
		if err := visit(block); err != nil {
			return fmt.Errorf("block %d: %w", number, err)
		}
		data = rest
	}
}

// nextBlock returns the first block of data, which must start on its own line, and the rest after it. The block is
// nil if only text is left.
func nextBlock(data []byte) (*pem.Block, []byte, error) {
	begin := bytes.Index(data, pemBegin)
	text := data
	if begin >= 0 {
		text = data[:begin]
	}
	if bytes.Contains(text, pemEnd) {
		return nil, nil, fmt.Errorf("%w: it has an end but no beginning", ErrMalformedPEM)
	}
	if begin < 0 {
		return nil, nil, nil
	}
	if begin > 0 && data[begin-1] != '\n' {
		return nil, nil, fmt.Errorf("%w: it does not start at the beginning of a line", ErrMalformedPEM)
	}
	data = data[begin:]
	end := bytes.Index(data, pemEnd)
	if end < 0 || bytes.Contains(data[len(pemBegin):end], pemBegin) {
		return nil, nil, fmt.Errorf("%w: it has a beginning but no end", ErrMalformedPEM)
	}
	size := len(data)
	if newline := bytes.IndexByte(data[end:], '\n'); newline >= 0 {
		size = end + newline + 1
	}
	block, _ := pem.Decode(data[:size])
	if block == nil {
		return nil, nil, fmt.Errorf("%w: its lines are damaged", ErrMalformedPEM)
	}
	return block, data[size:], nil
}

// describe names the type of a block for an error. It does not repeat an unknown type, which is free text of the
// input.
func describe(blockType string) string {
	switch blockType {
	case blockCertificate, blockPKCS8, blockPKCS1, blockSEC1, blockEncrypted, blockOpenSSH, blockECParameters,
		"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "TRUSTED CERTIFICATE", "X509 CRL", "PUBLIC KEY", "RSA PUBLIC KEY":
		return blockType
	default:
		return "of an unknown type"
	}
}
