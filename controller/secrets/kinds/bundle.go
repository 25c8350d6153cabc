// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"time"
)

// Data keys of bundles.
const (
	DataKeyCertificateBundle = "bundle.crt"
	DataKeyPrivateKeyBundle  = "bundle.key"
)

// CertificateBundleSecretConfig is what is trusted: the certificates of a CA, the current one first. The
// configuration holds the content, so other content means another object.
type CertificateBundleSecretConfig struct {
	Name            string
	CertificatePEMs [][]byte
}

// GetName implements Config.
func (c *CertificateBundleSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *CertificateBundleSecretConfig) Generate(time.Time) (Data, error) {
	return Map{DataKeyCertificateBundle: slices.Concat(c.CertificatePEMs...)}, nil
}

// RSAPrivateKeyBundleSecretConfig are the keys that tokens may be signed with, the current one first.
type RSAPrivateKeyBundleSecretConfig struct {
	Name           string
	PrivateKeyPEMs [][]byte
}

// GetName implements Config.
func (c *RSAPrivateKeyBundleSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *RSAPrivateKeyBundleSecretConfig) Generate(time.Time) (Data, error) {
	return Map{DataKeyPrivateKeyBundle: slices.Concat(c.PrivateKeyPEMs...)}, nil
}
