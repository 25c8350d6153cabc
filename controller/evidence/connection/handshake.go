// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
)

// Client shakes hands with any server, because what one presents is to be seen whether it can be verified or not: whoever
// asks verifies it afterwards, and sends nothing secret. No session is ever resumed, unless Tickets gives one: a server that
// knows a client again need not verify it again.
type Client struct {
	// Pair is for servers that ask for a client certificate, nil for none.
	Pair *tls.Certificate
	// ServerName is sent to the server, unless it is "".
	ServerName string
	// Latest is the newest version of TLS that is spoken.
	Latest uint16
	// Tickets gets the session tickets that the server gives. It may be nil.
	Tickets tls.ClientSessionCache
}

// Shown is what a server has shown in a handshake, whether that was carried through or not.
type Shown struct {
	// Met says that the server has proven to hold the key of what it presents. What follows is set only then.
	Met bool
	// Asks says that it asks for a client certificate, Subjects are the pki.SubjectHash values of the authorities that it lists.
	Asks     bool
	Subjects []string
	// Presents is its leaf, followed by what it sent with it.
	Presents []*x509.Certificate
}

// Dial connects to HOST:PORT. The connection ends with the deadline of ctx.
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

// Shake shakes hands over a connection. A server that refuses the client has shown all the same what it accepts and presents.
func (c *Client) Shake(ctx context.Context, conn net.Conn) (*tls.Conn, Shown, error) {
	var shown Shown
	client := tls.Client(conn, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		MaxVersion:         c.Latest,
		ServerName:         c.ServerName,
		InsecureSkipVerify: true, //nolint:gosec // see Client
		ClientSessionCache: c.Tickets,
		// Called after the server has proven that it holds its key.
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

// Certificate is a pair as crypto/tls presents it.
func Certificate(pair *pki.Pair) (tls.Certificate, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return tls.Certificate{}, err
	}
	defer clear(key)
	return tls.X509KeyPair(pair.CertPEM(), key)
}
