// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
)

// Cache parses each PEM once. Its key is the content, so it needs no invalidation. It keeps the results, errors
// included, of the most recently used PEMs. Equal certificates of entries that it holds at the same time are the same
// pointer: the signer at the end of each leaf's chain exists once. CheckKey is cached likewise. Safe for concurrent
// use.
type Cache struct {
	max  int
	keys *checkedKeys

	mu       sync.Mutex
	entries  map[[sha256.Size]byte]*list.Element
	recent   *list.List // of *entry, the most recently used first
	interned map[Fingerprint]*internedCertificate
}

type entry struct {
	key   [sha256.Size]byte
	certs []*Certificate
	err   error
}

// internedCertificate counts how often the entries of the cache hold it.
type internedCertificate struct {
	cert *Certificate
	uses int
}

// NewCache returns an empty cache for the results of maxEntries PEMs. It holds at least one.
func NewCache(maxEntries int) *Cache {
	return &Cache{
		max:      max(maxEntries, 1),
		keys:     newCheckedKeys(max(maxEntries, 1)),
		entries:  map[[sha256.Size]byte]*list.Element{},
		recent:   list.New(),
		interned: map[Fingerprint]*internedCertificate{},
	}
}

// Chain is a cached ParseChain. The caller owns the slice.
func (c *Cache) Chain(data []byte) ([]*Certificate, error) {
	if len(data) > MaxPEMBytes {
		return nil, fmt.Errorf("PEM of %d bytes: %w", len(data), ErrTooLarge)
	}
	key := sha256.Sum256(data)
	found := c.lookup(key)
	if found == nil {
		// Parse without the lock: at worst, two callers parse the same PEM at the same time.
		certs, err := parseChain(data, c.parse)
		found = c.insert(&entry{key: key, certs: certs, err: err})
	}
	return slices.Clone(found.certs), found.err
}

func (c *Cache) lookup(key [sha256.Size]byte) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry)
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
func (c *Cache) insert(e *entry) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[e.key]; ok {
		return element.Value.(*entry)
	}
	for i, cert := range e.certs {
		e.certs[i] = c.acquire(cert)
	}
	c.entries[e.key] = c.recent.PushFront(e)
	if c.recent.Len() > c.max {
		c.evict(c.recent.Back())
	}
	return e
}

func (c *Cache) evict(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	delete(c.entries, e.key)
	for _, cert := range e.certs {
		c.release(cert.Fingerprint)
	}
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

func (c *Cache) release(fingerprint Fingerprint) {
	known := c.interned[fingerprint]
	known.uses--
	if known.uses == 0 {
		delete(c.interned, fingerprint)
	}
}
