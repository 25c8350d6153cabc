// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
)

// parseKey reads the one private key of a PEM. It skips other blocks, such as the EC PARAMETERS that openssl writes
// first.
func parseKey(data []byte) (crypto.Signer, error) {
	var key crypto.Signer
	err := eachBlock(data, func(block *pem.Block) error {
		if !isPrivateKey(block) {
			return nil
		}
		if key != nil {
			return ErrManyKeys
		}
		var err error
		key, err = keyOf(block)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("parse private key: %w", err)
	}
	if key == nil {
		return nil, fmt.Errorf("parse private key: %w", ErrNoKey)
	}
	return key, nil
}

// isPrivateKey tests the suffix that all private key types share. So a key of an unsupported type is reported as
// such, not as a missing key.
func isPrivateKey(block *pem.Block) bool {
	return strings.HasSuffix(block.Type, blockPKCS8)
}

// keyOf reads the key of one block. It drops the errors of the decoders: nothing derived from key bytes may reach a
// message.
func keyOf(block *pem.Block) (crypto.Signer, error) {
	if block.Type == blockEncrypted || block.Headers["DEK-Info"] != "" || block.Headers["Proc-Type"] != "" {
		return nil, ErrEncryptedKey
	}
	if len(block.Bytes) > maxKeyDER {
		return nil, fmt.Errorf("private key of %d bytes: %w", len(block.Bytes), ErrTooLarge)
	}
	// The decoders copy the bytes that they keep, so these can be cleared.
	defer clear(block.Bytes)
	key, err := decodeKey(block)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be read as %s", ErrInvalidKey, describe(block.Type))
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%w: it cannot sign", ErrInvalidKey)
	}
	return signer, nil
}

// decodeKey decides by the content, not by the block type, as crypto/tls does: a key that every server accepts must
// not be called broken.
func decodeKey(block *pem.Block) (any, error) {
	switch block.Type {
	case blockPKCS8, blockPKCS1, blockSEC1:
	default:
		return nil, ErrInvalidKey
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

// checkKey returns ErrKeyMismatch unless cert certifies key.
func checkKey(cert *Certificate, key crypto.Signer) error {
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("%w: its public half cannot be encoded", ErrInvalidKey)
	}
	if hexSHA256(spki) != cert.PublicKeyHash {
		return ErrKeyMismatch
	}
	return nil
}
