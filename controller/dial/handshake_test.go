// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/pipenet"
)

// TestShake: the result has what a server shows, also when the handshake fails. Each failure has one text.
func TestShake(t *testing.T) {
	now := time.Now()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Profile{CommonName: "server", Key: pki.ECDSAP256, Validity: time.Minute, Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := Certificate(pair)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.Certificate.PEM())
	server := func(auth tls.ClientAuthType) func(net.Conn) {
		return func(conn net.Conn) {
			config := &tls.Config{Certificates: []tls.Certificate{leaf}, ClientAuth: auth, ClientCAs: pool, MinVersion: tls.VersionTLS12}
			_ = tls.Server(conn, config).Handshake() // the client's side is tested
		}
	}
	answer := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096)) // the ClientHello
			_, _ = io.WriteString(conn, text)
		}
	}
	for name, tc := range map[string]struct {
		serve     func(net.Conn)
		pair      *tls.Certificate
		met, asks bool
		failure   string
	}{
		"asks and accepts":  {serve: server(tls.RequireAndVerifyClientCert), pair: &leaf, met: true, asks: true},
		"asks and refuses":  {serve: server(tls.RequireAndVerifyClientCert), met: true, asks: true, failure: "it refuses the handshake: tls: handshake failure"},
		"asks for nothing":  {serve: server(tls.NoClientCert), pair: &leaf, met: true},
		"hangs up":          {serve: answer(""), failure: "it closes the connection"},
		"does not speak":    {serve: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, failure: "it does not answer in time"},
		"speaks no TLS":     {serve: answer("SSH-2.0-server\r\n"), failure: "it does not speak TLS"},
		"speaks no new TLS": {serve: answer("\x15\x03\x01\x00\x02\x02\x46"), failure: "it refuses the handshake: tls: protocol version not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			pipenet.Test(t, func(t *testing.T) {
				var network pipenet.Network
				listener := network.Listen()
				var served sync.WaitGroup
				defer served.Wait()
				defer listener.Close()
				served.Go(func() {
					if conn, err := listener.Accept(); err == nil {
						tc.serve(conn)
						_ = conn.Close()
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				conn, err := Dial(ctx, network.DialContext, listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				// With TLS 1.2, a client learns within the handshake that the server refuses it.
				_, shown, err := (&Client{Pair: tc.pair, Latest: tls.VersionTLS12}).Shake(ctx, conn)
				said := ""
				if err != nil {
					said = Failure(ctx, err)
				}
				if said != tc.failure || shown.Met != tc.met || shown.Asks != tc.asks {
					t.Errorf("met %t, asks %t, %q (%v); want %t, %t, %q", shown.Met, shown.Asks, said, err, tc.met, tc.asks, tc.failure)
				}
				if lists := slices.Contains(shown.Subjects, ca.Certificate.SubjectHash); lists != tc.asks {
					t.Errorf("it lists %q", shown.Subjects)
				}
				if presents := len(shown.Presents) > 0; presents != tc.met {
					t.Errorf("%d certificates were seen", len(shown.Presents))
				}
			})
		})
	}
}
