// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/utils/lru"

	"certrotation.dev/registry/pki"
)

// maxDigests bounds what is remembered: as many trust stores as bundles that are looked at often.
const maxDigests = 4096

// digests remembers the digest of each trust store by what it is made of, because deriving a key takes a millisecond and a
// trust domain is assessed at each change of anything in it.
var digests = lru.New(maxDigests)

// Digest names the bytes that Encode returns: it is the DigestOf of them, "" if there are none.
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

// DigestOf names bytes by their content: their SHA-256 in lower-case hexadecimal.
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
