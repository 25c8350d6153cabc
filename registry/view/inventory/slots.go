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

// Slot is where a Secret holds pairs: the certificates under one key, their private keys under another. An empty
// value is an empty slot.
type Slot struct {
	Cert, Key string
	// several is true if the slot may hold several pairs: the certificates are concatenated, newest first, and the
	// keys in the same order. Any other slot holds one pair, whose certificate may be followed by its issuers.
	several bool
	// keyless is true if the slot has certificates alone, see WithoutKeys.
	keyless bool
}

// WithoutKeys is the slot in the Secret of a signer whose issuer keeps the keys: its pairs have none.
func (s Slot) WithoutKeys() Slot {
	s.keyless = true
	return s
}

// Slots of a signer Secret. The Secret of a leaf has only the active one.
var (
	ActiveSlot   = Slot{Cert: ActiveCertKey, Key: ActiveKeyKey}
	NextSlot     = Slot{Cert: NextCertKey, Key: NextKeyKey}
	PreviousSlot = Slot{Cert: PreviousCertKey, Key: PreviousKeyKey, several: true}
)

// SignerSlots returns the slots of a signer Secret in the order in which faults are shown.
func SignerSlots() []Slot { return []Slot{ActiveSlot, NextSlot, PreviousSlot} }

// Fault is what is wrong with a piece of content, the same for signing and for display. Its text quotes no Secret
// data.
type Fault struct {
	// Reason is trust.ReasonUnparsable or trust.ReasonKeyMismatch.
	Reason trust.Reason
	Text   string
}

// Error implements error.
func (f *Fault) Error() string { return f.Text }

// ErrNoPair means that the Secret of a signer does not hold the pair that the decision was about.
var ErrNoPair = errors.New("the signer does not hold this CA")

// SignerPair reads the pair of the CA with that fingerprint from any slot, with the path to its root as far as the
// Secret holds it. A slot at fault hides only itself.
func SignerPair(data map[string][]byte, fingerprint pki.Fingerprint) (*pki.Pair, error) {
	missing := []error{ErrNoPair}
	for _, slot := range SignerSlots() {
		pairs, err := slot.Pairs(data)
		if err != nil {
			missing = append(missing, err)
		}
		for _, pair := range pairs {
			if pair.Certificate.Fingerprint == fingerprint {
				pair.Chain = pair.Certificate.Path(HeldIssuers(data), 0)
				return pair, nil
			}
		}
	}
	return nil, errors.Join(missing...)
}

// SignerPairs reads the pairs of all slots. It fails if one slot is at fault.
func SignerPairs(data map[string][]byte) ([]*pki.Pair, error) {
	var all []*pki.Pair
	for _, slot := range SignerSlots() {
		pairs, err := slot.Pairs(data)
		if err != nil {
			return nil, err
		}
		all = append(all, pairs...)
	}
	return all, nil
}

// ActivePair reads the pair of a leaf, or the active one of a signer. It fails if there is none.
func ActivePair(data map[string][]byte) (*pki.Pair, error) {
	pairs, err := ActiveSlot.Pairs(data)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, unparsable(ActiveCertKey, pki.ErrNoCertificate)
	}
	return pairs[0], nil
}

// HoldsAuthority reports whether any slot holds a CA.
func HoldsAuthority(data map[string][]byte) bool {
	for _, slot := range SignerSlots() {
		if certs, err := pki.ParseChain(data[slot.Cert]); err == nil && certs[0].IsCA {
			return true
		}
	}
	return false
}

// Pairs reads the pairs of a slot with their keys, to sign with or to move; none if it is empty. The error is a
// *Fault.
func (s Slot) Pairs(data map[string][]byte) ([]*pki.Pair, error) {
	var pairs []*pki.Pair
	_, fault := s.read(data, pki.ParseChain, func(chain []*pki.Certificate, key []byte) error {
		if s.keyless {
			pairs = append(pairs, &pki.Pair{Certificate: chain[0], Chain: chain[1:]})
			return nil
		}
		pair, err := pki.ParsePair(pki.EncodeCertificates(chain...), key)
		pairs = append(pairs, pair)
		return err
	})
	if fault != nil {
		return nil, fault
	}
	return pairs, nil
}

// check verifies the keys and does not keep them.
func (s Slot) check(data map[string][]byte, certs *pki.Cache) Pair {
	list, fault := s.read(data, certs.Chain, func(chain []*pki.Certificate, key []byte) error {
		return certs.CheckKey(chain[0], key)
	})
	return Pair{Certificates: list, Fault: fault, NoKey: len(list) > 0 && blank(data[s.Key])}
}

// Put replaces the content of a slot. Without any pair it empties the slot. Issuers are written behind the CA, if the
// slot holds one pair.
func (s Slot) Put(data map[string][]byte, pairs ...*pki.Pair) error {
	var certs, keys []byte
	for _, pair := range pairs {
		if s.keyless {
			certs = append(certs, pair.Certificate.PEM()...)
			continue
		}
		key, err := pair.KeyPEM()
		if err != nil {
			return fmt.Errorf("encode the key for %s: %w", s.Cert, err)
		}
		text := pair.CertPEM()
		if s.several {
			text = pair.Certificate.PEM()
		}
		certs, keys = append(certs, text...), append(keys, key...)
	}
	if len(pairs) == 0 {
		delete(data, s.Cert)
		delete(data, s.Key)
		return nil
	}
	data[s.Cert], data[s.Key] = certs, keys
	return nil
}

// read reads the certificates of a slot, and calls match for the key of each chain. It returns the certificates even
// if a key is at fault.
func (s Slot) read(
	data map[string][]byte, parse func([]byte) ([]*pki.Certificate, error), match func(chain []*pki.Certificate, key []byte) error,
) ([]*pki.Certificate, *Fault) {
	if blank(data[s.Cert]) && blank(data[s.Key]) {
		return nil, nil
	}
	certs, err := parse(data[s.Cert])
	if err != nil {
		return nil, unparsable(s.Cert, err)
	}
	if !s.several {
		if len(certs) > pki.MaxChain {
			return nil, unparsable(s.Cert, fmt.Errorf("chain of %d certificates: %w", len(certs), pki.ErrTooLarge))
		}
		return certs, s.keyFault(match(certs, data[s.Key]))
	}
	if s.keyless {
		for i := range certs {
			// It has no key that could be at fault.
			_ = match(certs[i:i+1], nil)
		}
		return certs, nil
	}
	keys := splitKeys(data[s.Key])
	defer func() {
		for _, key := range keys {
			clear(key)
		}
	}()
	if len(keys) != len(certs) {
		return certs, &Fault{
			Reason: trust.ReasonKeyMismatch,
			Text:   fmt.Sprintf("%s has %d certificates and %s has %d keys", s.Cert, len(certs), s.Key, len(keys)),
		}
	}
	for i := range certs {
		if fault := s.keyFault(match(certs[i:i+1], keys[i])); fault != nil {
			fault.Text += fmt.Sprintf(" (pair %d of %d)", i+1, len(certs))
			return certs, fault
		}
	}
	return certs, nil
}

// keyFault returns the fault of a key, nil if it belongs to its certificate.
func (s Slot) keyFault(err error) *Fault {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pki.ErrKeyMismatch):
		return &Fault{
			Reason: trust.ReasonKeyMismatch,
			Text:   fmt.Sprintf("the key under %s does not belong to the certificate under %s", s.Key, s.Cert),
		}
	default:
		return unparsable(s.Key, err)
	}
}

// splitKeys returns each private key of a PEM as a PEM of its own. Damage between the keys shows as a wrong number of
// keys. Damage within one shows when it is parsed.
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
