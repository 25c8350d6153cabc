// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"errors"
	"time"
)

// Refusal returns why a client that trusts the anchors refuses a server's chain for a name, "" if it accepts it.
func Refusal(chain []*x509.Certificate, anchors []*Certificate, name string, now time.Time) string {
	if len(chain) == 0 {
		return "it presents no certificate"
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, anchor := range anchors {
		if parsed, err := x509.ParseCertificate(anchor.DER()); err == nil {
			roots.AddCert(parsed)
		}
	}
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return RefusalOf(err)
}

// RefusalOf describes the crypto/x509 error for a server's chain, "" for none. It quotes nothing of the chain, which
// anyone may have made.
func RefusalOf(err error) string {
	var (
		invalid x509.CertificateInvalidError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return "it presents a certificate that chains to no anchor of the bundle"
	case errors.As(err, &host):
		return "it presents a certificate that is not for the name " + host.Host
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it presents a certificate that is expired or not valid yet"
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return "it presents a certificate that is not for servers"
	}
	return "it presents a certificate that cannot be verified"
}
