// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsreload

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// errNoName is the answer to a server that nobody has named.
var errNoName = errors.New("the server's name is not known: set ServerName of the tls.Config, which an IP address needs")

// errNoAnchors: a client without trust anchors trusts nobody, and never everybody.
var errNoAnchors = errors.New("no trust anchor is loaded to verify the server by")

// ServerConfig is a config for a server. Base, which may be nil, says everything but the certificate and the anchors, such as
// ClientAuth and NextProtos.
func (s *Source) ServerConfig(base *tls.Config) *tls.Config {
	out := derive(base)
	out.SessionTicketsDisabled = true
	inner := out.Clone()
	out.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m, config := s.current.Load(), inner.Clone()
		config.Certificates, config.ClientCAs = nil, m.anchors
		if m.pair != nil {
			config.Certificates = []tls.Certificate{*m.pair}
		}
		if config.ClientCAs == nil {
			// With nil crypto/tls would verify clients by the anchors of the machine.
			config.ClientCAs = x509.NewCertPool()
		}
		return config, nil
	}
	return out
}

// ClientConfig is a config for a client of any number of servers. Base, which may be nil, says everything but the certificate
// and the anchors.
func (s *Source) ClientConfig(base *tls.Config) *tls.Config {
	out := derive(base)
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certificate(), nil }
	out.ClientSessionCache = nil
	// The anchors of a config cannot change, so that VerifyConnection verifies instead.
	out.InsecureSkipVerify = true
	name, also := out.ServerName, out.VerifyConnection
	out.VerifyConnection = func(state tls.ConnectionState) error {
		if err := s.verify(&state, name); err != nil {
			return err
		}
		if also != nil {
			return also(state)
		}
		return nil
	}
	return out
}

func derive(base *tls.Config) *tls.Config {
	if base == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	out := base.Clone()
	out.MinVersion = max(out.MinVersion, tls.VersionTLS12)
	out.Certificates, out.RootCAs, out.ClientCAs = nil, nil, nil
	return out
}

// certificate is never nil; an empty one presents nothing.
func (s *Source) certificate() *tls.Certificate {
	if pair := s.current.Load().pair; pair != nil {
		return pair
	}
	return &tls.Certificate{}
}

// verify does what crypto/tls does, by the anchors of now.
func (s *Source) verify(state *tls.ConnectionState, name string) error {
	if name == "" {
		name = state.ServerName
	}
	if name == "" {
		return errNoName
	}
	m := s.current.Load()
	if m.anchors == nil {
		return errNoAnchors
	}
	intermediates := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	if _, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName: name, Roots: m.anchors, Intermediates: intermediates, CurrentTime: time.Now(),
	}); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}
