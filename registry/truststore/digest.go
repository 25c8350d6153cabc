// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/utils/lru"

	"certrotation.dev/registry/pki"
)

// maxDigests bounds the cache: as many trust stores as there are bundles that are often assessed.
const maxDigests = 4096

// digests caches the digest of each trust store by its inputs. Deriving a key takes a millisecond, and a trust domain
// is assessed at each change of anything in it.
var digests = lru.New(maxDigests)

// Digest is the DigestOf the bytes that Encode returns, "" if there are none.
func Digest(format Format, password string, anchors []*pki.Certificate) string {
	key := madeOf(format, password, anchors)
	if known, ok := digests.Get(key); ok {
		return known.(string)
	}
	encoded, err := Encode(format, password, anchors)
	if err != nil {
		return ""
	}
	digest := DigestOf(encoded)
	digests.Add(key, digest)
	return digest
}

// DigestOf returns the SHA-256 of data in lower-case hexadecimal.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func madeOf(format Format, password string, anchors []*pki.Certificate) [sha256.Size]byte {
	text := []byte(string(format) + "\x00" + password + "\x00")
	for _, anchor := range anchors {
		text = append(text, anchor.Fingerprint...)
	}
	return sha256.Sum256(text)
}
