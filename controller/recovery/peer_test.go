// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

// peer is an etcd member that accepts handshakes.
type peer struct {
	leaf   *pki.Pair
	trusts []*pki.Pair
}

// serve starts the peer. As etcd does, it requires a client certificate.
func (p peer) serve(t *testing.T, name string) nodepod.Member {
	t.Helper()
	key, err := p.leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(p.leaf.CertPEM(), key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for _, ca := range p.trusts {
		pool.AppendCertsFromPEM(ca.Certificate.PEM())
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return nodepod.Member{Name: name, Address: strings.TrimPrefix(server.URL, "https://")}
}

// nobody returns a member at a port where nothing listens.
func nobody(name string) nodepod.Member { return nodepod.Member{Name: name, Address: "127.0.0.1:1"} }
