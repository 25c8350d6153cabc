// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"crypto/hkdf"
	"crypto/sha256"
	"io"
)

// maxSalts is more than any format reads: two salts and an initialization vector.
const maxSalts = 1024

// salts replaces the randomness that a library reads. It depends on everything that is written, so that no two
// contents share a salt.
type salts struct{ rest []byte }

func newSalts(made []byte) *salts {
	stream, err := hkdf.Key(sha256.New, made, nil, "certrotation trust store", maxSalts)
	if err != nil {
		// Only a length that no constant here has is an error. Reads from an empty reader fail.
		return &salts{}
	}
	return &salts{rest: stream}
}

// Read implements io.Reader.
func (s *salts) Read(into []byte) (int, error) {
	if len(s.rest) == 0 && len(into) > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(into, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
