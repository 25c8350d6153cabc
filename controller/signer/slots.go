// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signer

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// ErrNoPair says that the Secret of a signer does not hold the pair that the decision was about.
var ErrNoPair = errors.New("the signer does not hold this CA")

// Slot returns the pair in the active or the next slot, nil if the slot is empty.
func Slot(secret *corev1.Secret, certKey, keyKey string) (*pki.Pair, error) {
	if len(bytes.TrimSpace(secret.Data[certKey])) == 0 {
		return nil, nil
	}
	pair, err := pki.ParsePair(secret.Data[certKey], secret.Data[keyKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", certKey, err)
	}
	return pair, nil
}

// Previous returns the pairs in the slot previous, newest first.
func Previous(secret *corev1.Secret) ([]*pki.Pair, error) {
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

// Authority returns the pair of the CA with that fingerprint, whatever slot it is in.
func Authority(secret *corev1.Secret, fingerprint pki.Fingerprint) (*pki.Pair, error) {
	next, err := Slot(secret, inventory.NextCertKey, inventory.NextKeyKey)
	if err == nil && Holds(next, fingerprint) {
		return next, nil
	}
	active, activeErr := Slot(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey)
	if activeErr == nil && Holds(active, fingerprint) {
		return active, nil
	}
	previous, previousErr := Previous(secret)
	at := slices.IndexFunc(previous, func(p *pki.Pair) bool { return Holds(p, fingerprint) })
	if at >= 0 {
		return previous[at], nil
	}
	return nil, errors.Join(ErrNoPair, err, activeErr, previousErr)
}

// Holds says whether a pair, nil for none, is that of the CA with that fingerprint.
func Holds(pair *pki.Pair, fingerprint pki.Fingerprint) bool {
	return pair != nil && pair.Certificate.Fingerprint == fingerprint
}
