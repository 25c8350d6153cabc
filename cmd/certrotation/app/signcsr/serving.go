// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"crypto/tls"
)

// tlsConfig reads the serving pairs and the client CAs for each handshake.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: s.certificateFor}
			if s.files.options.ClientCAFile == "" {
				return config, nil
			}
			pool, err := s.files.clientCAs()
			if err != nil {
				return nil, err
			}
			config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, pool
			// A session that was resumed would not see a client CA that was taken away.
			config.SessionTicketsDisabled = true
			return config, nil
		},
	}
}

// certificateFor is the first certificate that the client can verify by what it says, or else the first of all.
func (s *Server) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	pairs, err := s.files.servingCertificates()
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		if hello.SupportsCertificate(pair) == nil {
			return pair, nil
		}
	}
	return pairs[0], nil
}
