// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto"
	"fmt"
	"net"
	"time"

	"certrotation.dev/registry/pki"
)

// CertType says what a certificate is for.
type CertType string

// Types of certificates. A secret without a type has only the certificate of its CA.
const (
	CACert           CertType = "ca"
	ServerCert       CertType = "server"
	ClientCert       CertType = "client"
	ServerClientCert CertType = "both"
)

// Data keys of certificates.
const (
	DataKeyCertificate   = "tls.crt"
	DataKeyPrivateKey    = "tls.key"
	DataKeyCertificateCA = "ca.crt"
	DataKeyPrivateKeyCA  = "ca.key"
)

// Encodings of an RSA key.
const (
	PKCS1 = iota
	PKCS8
)

// backdate is how long before now a certificate becomes valid, for verifiers whose clock is behind.
const backdate = time.Minute

// defaultYears is the validity of a certificate whose configuration does not set it.
const defaultYears = 10

// CertificateSecretConfig is a CA, or a certificate for servers, clients or both.
type CertificateSecretConfig struct {
	Name string

	// CommonName of a CA is replaced by the name of its Secret, so that each generation has its own subject.
	CommonName   string
	Organization []string
	DNSNames     []string
	IPAddresses  []net.IP

	CertType CertType
	// SigningCA is set by the option SignedByCA.
	SigningCA *Certificate
	// PKCS is the encoding of the key. PKCS1 stands for what an algorithm had before PKCS8.
	PKCS int

	// Validity defaults to ten years. A leaf ends with its signer at the latest.
	Validity                          *time.Duration
	SkipPublishingCACertificate       bool
	IncludeCACertificateInServerChain bool

	// Key is the algorithm of the key, RSA-3072 by default.
	Key pki.KeyAlgorithm
	// RequestPEM is a certificate signing request of the owner of the key. Only its public key counts: names and
	// usages come from this configuration.
	RequestPEM []byte
	// KeyOutside means that the key of a CA is not in the cluster.
	KeyOutside bool

	// OutsideKey is that key. The library sets it.
	OutsideKey crypto.Signer `hash:"ignore"`
}

// GetName implements Config.
func (c *CertificateSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *CertificateSecretConfig) Generate(now time.Time) (Data, error) {
	return c.GenerateCertificate(now)
}

// GenerateCertificate is Generate with a typed result.
func (c *CertificateSecretConfig) GenerateCertificate(now time.Time) (*Certificate, error) {
	out := &Certificate{
		Name: c.Name, CA: c.SigningCA, CertType: c.CertType,
		SkipPublishingCACertificate: c.SkipPublishingCACertificate, IncludeCACertificateInServerChain: c.IncludeCACertificateInServerChain,
	}
	made, err := c.make(now)
	if err != nil {
		return nil, fmt.Errorf("make certificate %q: %w", c.Name, err)
	}
	if made == nil {
		return out, nil
	}
	if err := out.take(made, c.hasKey(), c.PKCS); err != nil {
		return nil, fmt.Errorf("make certificate %q: %w", c.Name, err)
	}
	return out, nil
}

func (c *CertificateSecretConfig) hasKey() bool { return len(c.RequestPEM) == 0 && !c.KeyOutside }

// Check refuses an invalid configuration, independent of the signer.
func (c *CertificateSecretConfig) Check() error {
	switch {
	case c.CertType != "" && c.CertType != CACert && c.CertType != ServerCert && c.CertType != ClientCert && c.CertType != ServerClientCert:
		return fmt.Errorf("%w: certificate type %q", ErrInvalidConfig, c.CertType)
	case c.PKCS != PKCS1 && c.PKCS != PKCS8:
		return fmt.Errorf("%w: PKCS %d", ErrInvalidConfig, c.PKCS)
	case c.Validity != nil && *c.Validity <= 0:
		return fmt.Errorf("%w: validity %s", ErrInvalidConfig, *c.Validity)
	case c.KeyOutside && c.CertType != CACert:
		return fmt.Errorf("%w: only the key of an authority can be outside; a leaf has a request", ErrInvalidConfig)
	case len(c.RequestPEM) > 0 && (c.CertType == CACert || c.CertType == ""):
		return fmt.Errorf("%w: only a leaf has a request", ErrInvalidConfig)
	case c.Key != "" && !c.Key.Valid():
		return fmt.Errorf("%w: %w", ErrInvalidConfig, pki.ErrKeyAlgorithm)
	}
	return nil
}

// make returns the certificate, nil for a secret without one.
func (c *CertificateSecretConfig) make(now time.Time) (*pki.Pair, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	profile := c.profile(now)
	switch {
	case c.CertType == "":
		if c.SigningCA == nil {
			return nil, ErrNoSigner
		}
		return nil, nil
	case c.CertType == CACert:
		return c.authority(profile, now)
	case c.SigningCA != nil && len(c.RequestPEM) > 0:
		return c.certify(profile, now)
	case c.SigningCA != nil:
		return c.SigningCA.pair.Issue(profile, now)
	case c.CertType == ServerCert && len(c.RequestPEM) == 0:
		return pki.NewSelfSigned(profile, now)
	}
	return nil, ErrNoSigner
}

func (c *CertificateSecretConfig) authority(profile pki.Profile, now time.Time) (*pki.Pair, error) {
	switch {
	case c.SigningCA != nil && c.KeyOutside:
		return nil, fmt.Errorf("%w: an authority with its key outside signs itself", ErrInvalidConfig)
	case c.SigningCA != nil:
		return c.SigningCA.pair.IssueAuthority(profile, now)
	case c.KeyOutside && c.OutsideKey == nil:
		return nil, fmt.Errorf("%w: its key is kept outside, and was not provided", ErrInvalidConfig)
	case c.KeyOutside:
		return pki.NewAuthorityOf(c.OutsideKey, profile, now)
	}
	return pki.NewAuthority(profile, now)
}

func (c *CertificateSecretConfig) certify(profile pki.Profile, now time.Time) (*pki.Pair, error) {
	public, err := publicOf(c.RequestPEM)
	if err != nil {
		return nil, err
	}
	leaf, err := c.SigningCA.pair.Certify(profile, public, now)
	if err != nil {
		return nil, err
	}
	return &pki.Pair{Certificate: leaf}, nil
}

func (c *CertificateSecretConfig) profile(now time.Time) pki.Profile {
	validity := now.AddDate(defaultYears, 0, 0).Sub(now)
	if c.Validity != nil {
		validity = *c.Validity
	}
	out := pki.Profile{
		CommonName: c.CommonName, Organizations: c.Organization, DNSNames: c.DNSNames, Usages: c.CertType.usages(),
		Key: c.Key, Validity: validity, Backdate: backdate, Subordinates: true,
	}
	if out.Key == "" {
		out.Key = pki.RSA3072
	}
	for _, address := range c.IPAddresses {
		out.IPAddresses = append(out.IPAddresses, address.String())
	}
	return out
}

func (t CertType) usages() []pki.Usage {
	switch t {
	case ServerCert:
		return []pki.Usage{pki.ServerAuth}
	case ClientCert:
		return []pki.Usage{pki.ClientAuth}
	case ServerClientCert:
		return []pki.Usage{pki.ServerAuth, pki.ClientAuth}
	case CACert:
	}
	return nil
}
