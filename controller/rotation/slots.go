// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// errNoPair says that the Secret of a signer does not hold the pair that the decision was about.
var errNoPair = errors.New("the signer does not hold this CA")

// slotPair returns the pair in the active or the next slot, nil if the slot is empty.
func slotPair(secret *corev1.Secret, certKey, keyKey string) (*pki.Pair, error) {
	if len(bytes.TrimSpace(secret.Data[certKey])) == 0 {
		return nil, nil
	}
	pair, err := pki.ParsePair(secret.Data[certKey], secret.Data[keyKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", certKey, err)
	}
	return pair, nil
}

// previousPairs returns the pairs in the slot previous, newest first.
func previousPairs(secret *corev1.Secret) ([]*pki.Pair, error) {
	if len(bytes.TrimSpace(secret.Data[inventory.PreviousCertKey])) == 0 {
		return nil, nil
	}
	certs, err := pki.ParseChain(secret.Data[inventory.PreviousCertKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", inventory.PreviousCertKey, err)
	}
	rest := secret.Data[inventory.PreviousKeyKey]
	pairs := make([]*pki.Pair, 0, len(certs))
	for _, cert := range certs {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("read %s: %w", inventory.PreviousKeyKey, pki.ErrNoKey)
		}
		pair, err := pki.ParsePair(cert.PEM(), pem.EncodeToMemory(block))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", inventory.PreviousKeyKey, err)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// authority returns the pair of the CA with that fingerprint, whatever slot it is in.
func authority(secret *corev1.Secret, fingerprint pki.Fingerprint) (*pki.Pair, error) {
	next, err := slotPair(secret, inventory.NextCertKey, inventory.NextKeyKey)
	if err == nil && holds(next, fingerprint) {
		return next, nil
	}
	active, activeErr := slotPair(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey)
	if activeErr == nil && holds(active, fingerprint) {
		return active, nil
	}
	previous, previousErr := previousPairs(secret)
	at := slices.IndexFunc(previous, func(p *pki.Pair) bool { return holds(p, fingerprint) })
	if at >= 0 {
		return previous[at], nil
	}
	return nil, errors.Join(errNoPair, err, activeErr, previousErr)
}

func holds(pair *pki.Pair, fingerprint pki.Fingerprint) bool {
	return pair != nil && pair.Certificate.Fingerprint == fingerprint
}

// setSlot stores pairs under two keys, concatenated in order.
func setSlot(secret *corev1.Secret, certKey, keyKey string, pairs ...*pki.Pair) error {
	var certs, keys []byte
	for _, pair := range pairs {
		key, err := pair.KeyPEM()
		if err != nil {
			return fmt.Errorf("encode the key for %s: %w", certKey, err)
		}
		certs, keys = append(certs, pair.Certificate.PEM()...), append(keys, key...)
	}
	secret.Data[certKey], secret.Data[keyKey] = certs, keys
	return nil
}

// keepActiveKeys makes sure that the keys exist which the Secret type demands, though the slot may be empty.
func keepActiveKeys(secret *corev1.Secret) {
	for _, name := range []string{inventory.ActiveCertKey, inventory.ActiveKeyKey} {
		if secret.Data[name] == nil {
			secret.Data[name] = []byte{}
		}
	}
}

// generations are all CAs of a domain whose names are taken.
func generations(d *trust.Domain) []*pki.Certificate {
	return slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors)
}
