// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"container/list"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
)

// checkedKeys caches, for the most recently used pairs, whether the key belongs to the certificate. It holds no key
// and cannot confirm a guess of one: an entry's ID is a MAC under a secret of this process.
type checkedKeys struct {
	max    int
	secret [sha256.Size]byte

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element
	recent  *list.List // of *checkedKey, the most recently used first
}

type checkedKey struct {
	id  [sha256.Size]byte
	err error
}

func newCheckedKeys(most int) *checkedKeys {
	c := &checkedKeys{max: most, entries: map[[sha256.Size]byte]*list.Element{}, recent: list.New()}
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
	if known := c.keys.lookup(id); known != nil {
		return known.err
	}
	_, err := matchKey(cert, keyPEM)
	c.keys.insert(&checkedKey{id: id, err: err})
	return err
}

func (c *checkedKeys) id(cert *Certificate, keyPEM []byte) (id [sha256.Size]byte) {
	mac := hmac.New(sha256.New, c.secret[:])
	mac.Write([]byte(cert.Fingerprint)) // Fingerprints have a fixed length, so the key begins at a fixed place.
	mac.Write(keyPEM)
	mac.Sum(id[:0])
	return id
}

func (c *checkedKeys) lookup(id [sha256.Size]byte) *checkedKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[id]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*checkedKey)
}

func (c *checkedKeys) insert(k *checkedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[k.id]; ok {
		return
	}
	c.entries[k.id] = c.recent.PushFront(k)
	if c.recent.Len() > c.max {
		delete(c.entries, c.recent.Remove(c.recent.Back()).(*checkedKey).id)
	}
}
