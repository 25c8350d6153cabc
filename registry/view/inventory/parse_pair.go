// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// parsePair reads a certificate with its chain, and checks that the key belongs to the first one.
func parsePair(certKey string, certPEM []byte, keyKey string, keyPEM []byte, certs *pki.Cache) Pair {
	if blank(certPEM) && blank(keyPEM) {
		return Pair{}
	}
	chain, err := certs.Chain(certPEM)
	if err != nil {
		return Pair{Fault: unparsable(certKey, err)}
	}
	if len(chain) > pki.MaxChain {
		return Pair{Fault: unparsable(certKey, fmt.Errorf("chain of %d certificates: %w", len(chain), pki.ErrTooLarge))}
	}
	return Pair{Certificates: chain, Fault: checkKey(certKey, chain[0], keyKey, keyPEM, certs)}
}

// parsePairs reads certificates each of which has a key of its own at the same place among the keys.
func parsePairs(certKey string, certPEM []byte, keyKey string, keyPEM []byte, certs *pki.Cache) Pair {
	if blank(certPEM) && blank(keyPEM) {
		return Pair{}
	}
	list, err := certs.Chain(certPEM)
	if err != nil {
		return Pair{Fault: unparsable(certKey, err)}
	}
	keys := splitKeys(keyPEM)
	defer func() {
		for _, key := range keys {
			clear(key)
		}
	}()
	if len(keys) != len(list) {
		return Pair{Certificates: list, Fault: &Fault{
			Reason: trust.ReasonKeyMismatch,
			Text:   fmt.Sprintf("%s has %d certificates and %s has %d keys", certKey, len(list), keyKey, len(keys)),
		}}
	}
	for i, cert := range list {
		if fault := checkKey(certKey, cert, keyKey, keys[i], certs); fault != nil {
			fault.Text += fmt.Sprintf(" (pair %d of %d)", i+1, len(list))
			return Pair{Certificates: list, Fault: fault}
		}
	}
	return Pair{Certificates: list}
}

// checkKey says what is wrong with the key of a certificate, nil if it is the right one.
func checkKey(certKey string, cert *pki.Certificate, keyKey string, keyPEM []byte, certs *pki.Cache) *Fault {
	err := certs.CheckKey(cert, keyPEM)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pki.ErrKeyMismatch):
		return &Fault{
			Reason: trust.ReasonKeyMismatch,
			Text:   fmt.Sprintf("the key under %s does not belong to the certificate under %s", keyKey, certKey),
		}
	default:
		return unparsable(keyKey, err)
	}
}

// splitKeys returns each private key of a PEM as a PEM of its own. Damage between the keys shows as a number of keys
// that does not fit, damage within one is found when it is parsed.
func splitKeys(keyPEM []byte) [][]byte {
	var keys [][]byte
	for {
		var block *pem.Block
		if block, keyPEM = pem.Decode(keyPEM); block == nil {
			return keys
		}
		if bytes.HasSuffix([]byte(block.Type), []byte("PRIVATE KEY")) {
			keys = append(keys, pem.EncodeToMemory(block))
			clear(block.Bytes)
		}
	}
}

// unparsable relies on package pki to quote neither keys nor PEM in its errors.
func unparsable(key string, err error) *Fault {
	return &Fault{Reason: trust.ReasonUnparsable, Text: fmt.Sprintf("%s cannot be read: %v", key, err)}
}

func blank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }
