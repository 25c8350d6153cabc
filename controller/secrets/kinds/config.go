// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"time"
)

// Config describes a secret. Other packages may define their own kinds.
type Config interface {
	// GetName is the name of the secret, and the prefix of the names of its Secrets.
	GetName() string
	// Generate makes new data, as of now.
	Generate(now time.Time) (Data, error)
}

// Data are what a Secret holds.
type Data interface {
	SecretData() map[string][]byte
}

// Map is plain data.
type Map map[string][]byte

// SecretData returns the map itself.
func (m Map) SecretData() map[string][]byte { return m }

// Errors of a configuration, or of data from another source; test with errors.Is.
var (
	// ErrInvalidConfig reports a configuration that no data can be made from.
	ErrInvalidConfig = errors.New("invalid configuration")
	// ErrNoSigner reports a certificate that needs a CA to sign it and has none.
	ErrNoSigner = errors.New("certificate needs a signer: give the option SignedByCA")
	// ErrInvalidRequest reports a certificate signing request that cannot be read, or that its own key has not
	// signed.
	ErrInvalidRequest = errors.New("invalid certificate signing request")
	// ErrInvalidData reports data that are not of their kind.
	ErrInvalidData = errors.New("data are none of this kind")
)
