// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"math/big"
)

// newSerial returns 159 random bits, never zero: the most that a positive integer
// of 20 octets, the limit of RFC 5280, can hold.
func newSerial() *big.Int {
	serial := new(big.Int)
	for serial.Sign() == 0 {
		var octets [20]byte
		// crypto/rand ends the program rather than return an error.
		_, _ = rand.Read(octets[:])
		octets[0] &= 0x7f
		serial.SetBytes(octets[:])
	}
	return serial
}
