// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"time"
)

// Config describes a secret. Other packages may have kinds of their own.
type Config interface {
	// GetName is the name of the secret, which its Secrets begin with.
	GetName() string
	// Generate makes the data anew, at now.
	Generate(now time.Time) (Data, error)
}

// Data are what a Secret holds.
type Data interface {
	SecretData() map[string][]byte
}

// Map is data as they are.
type Map map[string][]byte

// SecretData returns the map itself.
func (m Map) SecretData() map[string][]byte { return m }

// What is wrong with a configuration, or with data that somebody else has made; test with errors.Is.
var (
	// ErrInvalidConfig reports a configuration of which no data can be made.
	ErrInvalidConfig = errors.New("invalid configuration")
	// ErrNoSigner reports a certificate that an authority has to sign, without one.
	ErrNoSigner = errors.New("certificate needs a signer: give the option SignedByCA")
	// ErrInvalidRequest reports a certificate signing request that cannot be read, or that its own key has not signed.
	ErrInvalidRequest = errors.New("invalid certificate signing request")
	// ErrInvalidData reports data that are none of their kind.
	ErrInvalidData = errors.New("data are none of this kind")
)
