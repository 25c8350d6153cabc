// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
)

// Client does handshakes with any server and verifies nothing, so that what a server presents can be observed even if
// it is unverifiable. The caller verifies it afterwards and sends no secrets. No session is resumed unless Tickets
// provides one, because a server need not verify a resumed client.
type Client struct {
	// Pair is presented to servers that ask for a client certificate. It may be nil.
	Pair *tls.Certificate
	// ServerName is sent to the server unless it is empty.
	ServerName string
	// Latest is the highest TLS version to offer.
	Latest uint16
	// Tickets receives the server's session tickets. It may be nil.
	Tickets tls.ClientSessionCache
}

// Shown is what a server has shown in a handshake, even in one that failed.
type Shown struct {
	// Met reports whether the server has proven to hold the key of its leaf. The other fields are set only then.
	Met bool
	// Asks reports whether the server asks for a client certificate. Subjects are the pki.SubjectHash values of the
	// acceptable CAs that it lists.
	Asks     bool
	Subjects []string
	// Presents is the chain that the server sends, leaf first.
	Presents []*x509.Certificate
}

// Dial connects to HOST:PORT. The connection has the deadline of ctx.
func Dial(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) (net.Conn, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// Shake does the handshake on a connection. Shown is also filled in if the server refuses the client.
func (c *Client) Shake(ctx context.Context, conn net.Conn) (*tls.Conn, Shown, error) {
	var shown Shown
	client := tls.Client(conn, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		MaxVersion:         c.Latest,
		ServerName:         c.ServerName,
		InsecureSkipVerify: true, //nolint:gosec // see Client
		ClientSessionCache: c.Tickets,
		// TLS calls it after the server has proven that it holds its key.
		GetClientCertificate: func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			shown.Met, shown.Asks, shown.Subjects = true, true, subjectHashes(request.AcceptableCAs)
			if c.Pair == nil {
				return &tls.Certificate{}, nil
			}
			return c.Pair, nil
		},
	})
	err := client.HandshakeContext(ctx)
	shown.Met = shown.Met || err == nil
	if shown.Met {
		shown.Presents = client.ConnectionState().PeerCertificates
	}
	return client, shown, err
}

func subjectHashes(raw [][]byte) []string {
	raw = raw[:min(len(raw), record.MaxFingerprints)]
	hashes := make([]string, 0, len(raw))
	for _, subject := range raw {
		hashes = append(hashes, pki.SubjectHash(subject))
	}
	return hashes
}

// Certificate converts a pair for crypto/tls.
func Certificate(pair *pki.Pair) (tls.Certificate, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return tls.Certificate{}, err
	}
	defer clear(key)
	return tls.X509KeyPair(pair.CertPEM(), key)
}
