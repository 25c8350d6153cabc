// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// purpose separates these hashes from hashes of other content, and carries the version of the format.
const purpose = "certrotation mounted content 1"

// OfSecret returns the hash of a Secret's content, in lower-case hexadecimal.
func OfSecret(secret *corev1.Secret) string { return of(secret.Data) }

// OfConfigMap returns the hash of a ConfigMap's content, in lower-case hexadecimal.
func OfConfigMap(config *corev1.ConfigMap) string { return of(valuesOf(config)) }

func valuesOf(config *corev1.ConfigMap) map[string][]byte {
	content := make(map[string][]byte, len(config.Data)+len(config.BinaryData))
	maps.Copy(content, config.BinaryData)
	for key, value := range config.Data {
		content[key] = []byte(value)
	}
	return content
}

// Valid reports whether a text has the form of such a hash.
func Valid(hash string) bool {
	raw, err := hex.DecodeString(hash)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == hash
}

func of(content map[string][]byte) string {
	digest := sha256.New()
	length := func(n int) { digest.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	write := func(value []byte) {
		length(len(value))
		digest.Write(value)
	}
	write([]byte(purpose))
	length(len(content))
	for _, key := range slices.Sorted(maps.Keys(content)) {
		write([]byte(key))
		write(content[key])
	}
	sum := hex.EncodeToString(digest.Sum(nil))
	// Overwrite the end of the last value, which the digest still holds and which may be part of a private key.
	digest.Write(make([]byte, digest.BlockSize()))
	return sum
}
