// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import "crypto/rand"

// Characters of random texts.
const (
	alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hexadecimal  = "0123456789abcdef"
)

// random returns a text of n characters, all equally likely.
func random(n int, of string) string {
	// Bytes beyond the last whole multiple would make the first characters more likely.
	limit := 256 - 256%len(of)
	out := make([]byte, 0, n)
	var bytes [64]byte
	defer clear(bytes[:])
	for {
		// crypto/rand ends the program rather than return an error.
		_, _ = rand.Read(bytes[:])
		for _, b := range bytes {
			if len(out) == n {
				return string(out)
			}
			if int(b) < limit {
				out = append(out, of[int(b)%len(of)])
			}
		}
	}
}
