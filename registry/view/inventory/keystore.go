// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"maps"
	"slices"
)

// keystoreKey returns the first key whose value is a keystore of Java or PKCS#12, "" if there is none. Its program reads
// no PEM, and nothing renews it.
func keystoreKey(data map[string][]byte, maintained ...string) string {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if isKeystore(data[key]) && !slices.Contains(maintained, key) {
			return key
		}
	}
	return ""
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
