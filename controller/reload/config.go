// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// errNoName: neither the config nor the handshake names the server.
var errNoName = errors.New("the server's name is not known: set ServerName of the tls.Config, which an IP address needs")

// errNoAnchors: a client without trust anchors refuses every server.
var errNoAnchors = errors.New("no trust anchor is loaded to verify the server by")

// ServerConfig returns a config for a server. The Source replaces certificate and anchors. Everything else, such as
// ClientAuth and NextProtos, comes from base, which may be nil.
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
			// With nil, crypto/tls would verify clients by the trust store of the machine.
			config.ClientCAs = x509.NewCertPool()
		}
		return config, nil
	}
	return out
}

// ClientConfig returns a config for a client of any number of servers. The Source replaces certificate and anchors.
// Everything else comes from base, which may be nil.
func (s *Source) ClientConfig(base *tls.Config) *tls.Config {
	out := derive(base)
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certificate(), nil }
	out.ClientSessionCache = nil
	// The RootCAs of a config cannot change, so VerifyConnection verifies instead.
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

// certificate never returns nil; with an empty certificate, a client presents nothing.
func (s *Source) certificate() *tls.Certificate {
	if pair := s.current.Load().pair; pair != nil {
		return pair
	}
	return &tls.Certificate{}
}

// verify does what crypto/tls does, with the anchors that are loaded now.
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
