// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
)

// keystoreKeys returns the keys whose values are keystores of Java or PKCS#12, ordered. Their programs read no PEM, and
// nothing renews them.
func keystoreKeys(data map[string][]byte, maintained ...string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if isKeystore(data[key]) && !slices.Contains(maintained, key) {
			out = append(out, key)
		}
	}
	return out
}

// Keystore is the first of Keystores, "" if there is none.
func (s *Secret) Keystore() string { return firstKey(s.Keystores) }

func firstKey(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// parseKeystores reads which keystores and trust stores the Secret of a leaf has, and which of them are maintained. It
// parses none of them.
func parseKeystores(out *Secret, secret *corev1.Secret) {
	maintained := trust.ParseTrustStores(secret.Annotations[trust.AnnotationTrustStores])
	for _, key := range maintained {
		if data, ok := secret.Data[key]; ok {
			out.StoreDigests = with(out.StoreDigests, key, truststore.DigestOf(data))
		}
	}
	for key, recorded := range trust.ParseKeystores(secret.Annotations[trust.AnnotationKeystores]) {
		data, ok := secret.Data[key]
		if !ok {
			continue
		}
		seal := SealOf(secret, data)
		out.Seals = with(out.Seals, key, seal)
		if seal == recorded.Seal {
			maintained = append(maintained, key)
		}
	}
	out.Keystores = keystoreKeys(secret.Data, maintained...)
}

// SealOf returns the seal of a keystore beside the pair of a leaf.
func SealOf(secret *corev1.Secret, store []byte) string {
	return truststore.Seal(store, secret.Data[ActiveCertKey], secret.Data[ActiveKeyKey])
}

// isKeystore tells JKS and JCEKS by their first bytes, and PKCS#12 by the version of its PFX (RFC 7292, 4).
func isKeystore(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}) || bytes.HasPrefix(data, []byte{0xce, 0xce, 0xce, 0xce}) {
		return true
	}
	if len(data) < 2 || data[0] != 0x30 {
		return false
	}
	header := 2
	if long := data[1] & 0x7f; data[1] >= 0x80 && long <= 4 {
		header += int(long)
	}
	return len(data) > header && bytes.HasPrefix(data[header:], []byte{2, 1, 3})
}
