// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// hashAnnotation is the annotation that goes with the data of an aggregate.
func hashAnnotation[V ~string | ~[]byte](data map[string]V) map[string]string {
	return map[string]string{AnnotationContentHash: ContentHash(data)}
}

// ContentHash is the hexadecimal SHA-256 over the keys in order, each with its value; lengths keep neighbours apart.
func ContentHash[V ~string | ~[]byte](data map[string]V) string {
	hash := sha256.New()
	write := func(b []byte) {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		hash.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		write([]byte(name))
		write([]byte(data[name]))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
