// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"k8s.io/utils/lru"
)

// Cache parses each PEM once. Its key is the content, so it needs no invalidation. It keeps the results, errors
// included, of the most recently used PEMs. Equal certificates of entries that it holds at the same time are the same
// pointer: the signer at the end of each leaf's chain exists once. CheckKey is cached likewise. Safe for concurrent
// use.
type Cache struct {
	keys   *checkedKeys
	recent *lru.Cache // of *entry by the hash of the PEM

	// mu is held while an entry is added: interned are the certificates of the entries.
	mu       sync.Mutex
	interned map[Fingerprint]*internedCertificate
}

type entry struct {
	certs  []*Certificate
	unread []UnreadBlock
	err    error
}

// internedCertificate counts how often the entries of the cache hold it.
type internedCertificate struct {
	cert *Certificate
	uses int
}

// NewCache returns an empty cache for the results of maxEntries PEMs. It holds at least one.
func NewCache(maxEntries int) *Cache {
	c := &Cache{keys: newCheckedKeys(max(maxEntries, 1)), interned: map[Fingerprint]*internedCertificate{}}
	c.recent = lru.NewWithEvictionFunc(max(maxEntries, 1), func(_ lru.Key, evicted any) { c.release(evicted.(*entry)) })
	return c
}

// Chain is a cached ParseChain. The caller owns the slice.
func (c *Cache) Chain(data []byte) ([]*Certificate, error) {
	certs, unread, err := c.blocks(data)
	return whole(certs, unread, err)
}

// Anchors is a cached ParseAnchors.
func (c *Cache) Anchors(data []byte) (Anchors, error) {
	return anchorsOf(c.blocks(data))
}

func (c *Cache) blocks(data []byte) ([]*Certificate, []UnreadBlock, error) {
	if len(data) > MaxPEMBytes {
		return nil, nil, fmt.Errorf("PEM of %d bytes: %w", len(data), ErrTooLarge)
	}
	key := sha256.Sum256(data)
	if known, ok := c.recent.Get(key); ok {
		found := known.(*entry)
		return slices.Clone(found.certs), found.unread, found.err
	}
	// Parse without the lock: at worst, two callers parse the same PEM at the same time.
	certs, unread, err := parseBlocks(data, c.parse)
	found := c.insert(key, &entry{certs: certs, unread: unread, err: err})
	return slices.Clone(found.certs), found.unread, found.err
}

// parse returns a certificate that another entry already holds, or parses it.
func (c *Cache) parse(der []byte) (*Certificate, error) {
	if known := c.known(fingerprintOf(der)); known != nil {
		return known, nil
	}
	return ParseCertificate(der)
}

func (c *Cache) known(fingerprint Fingerprint) *Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.interned[fingerprint]; ok {
		return known.cert
	}
	return nil
}

// insert returns the entry that stays: another caller may have inserted the same PEM first.
func (c *Cache) insert(key [sha256.Size]byte, e *entry) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.recent.Get(key); ok {
		return known.(*entry)
	}
	for i, cert := range e.certs {
		e.certs[i] = c.acquire(cert)
	}
	c.recent.Add(key, e)
	return e
}

func (c *Cache) acquire(cert *Certificate) *Certificate {
	known, ok := c.interned[cert.Fingerprint]
	if !ok {
		known = &internedCertificate{cert: cert}
		c.interned[cert.Fingerprint] = known
	}
	known.uses++
	return known.cert
}

// release gives up the certificates of an evicted entry. The caller of Add holds mu.
func (c *Cache) release(e *entry) {
	for _, cert := range e.certs {
		known := c.interned[cert.Fingerprint]
		known.uses--
		if known.uses == 0 {
			delete(c.interned, cert.Fingerprint)
		}
	}
}
