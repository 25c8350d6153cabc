// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"k8s.io/utils/lru"
)

// checkedKeys caches, for the most recently used pairs, whether the key belongs to the certificate. It holds no key
// and cannot confirm a guess of one: an entry's ID is a MAC under a secret of this process.
type checkedKeys struct {
	secret [sha256.Size]byte
	recent *lru.Cache // of checkedKey by ID
}

type checkedKey struct {
	err error
}

func newCheckedKeys(most int) *checkedKeys {
	c := &checkedKeys{recent: lru.New(most)}
	_, _ = rand.Read(c.secret[:]) // rand.Read never returns an error.
	return c
}

// CheckKey returns nil if the private key belongs to the certificate, otherwise the fault. It fails as CheckPair
// does. It caches the answer by content and does not keep the key.
func (c *Cache) CheckKey(cert *Certificate, keyPEM []byte) error {
	if len(keyPEM) > MaxPEMBytes {
		_, err := matchKey(cert, keyPEM)
		return err
	}
	id := c.keys.id(cert, keyPEM)
	if known, ok := c.keys.recent.Get(id); ok {
		return known.(checkedKey).err
	}
	_, err := matchKey(cert, keyPEM)
	c.keys.recent.Add(id, checkedKey{err: err})
	return err
}

func (c *checkedKeys) id(cert *Certificate, keyPEM []byte) (id [sha256.Size]byte) {
	mac := hmac.New(sha256.New, c.secret[:])
	mac.Write([]byte(cert.Fingerprint)) // Fingerprints have a fixed length, so the key begins at a fixed place.
	mac.Write(keyPEM)
	mac.Sum(id[:0])
	return id
}
