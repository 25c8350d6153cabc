// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"certrotation.dev/registry/pki"
)

// PEM is what a Source loads: a certificate with its key, anchors, or both. Without a certificate a client presents
// nothing. Without anchors a server verifies no client.
type PEM struct {
	Certificate, Key, Anchors []byte
}

// material is what handshakes need. It is immutable.
type material struct {
	// pair is nil without a certificate; anchors is nil without anchors.
	pair    *tls.Certificate
	anchors *x509.CertPool

	trusts, presents []pki.Fingerprint
}

func parse(in PEM) (*material, error) {
	m := &material{}
	if len(in.Certificate)+len(in.Key)+len(in.Anchors) == 0 {
		return nil, errors.New("there is neither a certificate nor a trust anchor")
	}
	if len(in.Certificate)+len(in.Key) > 0 {
		certs, err := pki.CheckPair(in.Certificate, in.Key)
		if err != nil {
			return nil, fmt.Errorf("check that certificate and key belong together: %w", err)
		}
		pair, err := tls.X509KeyPair(in.Certificate, in.Key)
		if err != nil {
			return nil, fmt.Errorf("load certificate %s: %w", certs[0].Fingerprint, err)
		}
		m.pair, m.presents = &pair, []pki.Fingerprint{certs[0].Fingerprint}
	}
	if len(in.Anchors) == 0 {
		return m, nil
	}
	// As crypto/x509 does, it leaves out blocks that cannot be read.
	anchors, err := pki.ParseAnchors(in.Anchors)
	if err != nil {
		return nil, fmt.Errorf("load the trust anchors: %w", err)
	}
	m.anchors = x509.NewCertPool()
	for _, anchor := range anchors.Certificates {
		parsed, err := x509.ParseCertificate(anchor.DER())
		if err != nil {
			return nil, fmt.Errorf("load trust anchor %s: %w", anchor.Fingerprint, err)
		}
		m.anchors.AddCert(parsed)
		m.trusts = append(m.trusts, anchor.Fingerprint)
	}
	return m, nil
}
