// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// place is where one process is looked at, and what it is to be judged by.
type place struct {
	probe *trust.Probe
	// endpoint is IP:PORT.
	endpoint string
	anchors  []*pki.Certificate
	kin      *kin
}

// farewell bounds how long, and how much, is read from a server after the connection was closed towards it, courtesy how
// long that is once its answer is known: some servers keep the connection.
const (
	farewell      = time.Second
	farewellBytes = 64 << 10
	courtesy      = 200 * time.Millisecond
)

// greeting is how one handshake went.
type greeting struct {
	*sighting
	// err is that of the handshake, nil if it was carried through.
	err error
	// unreached says that there was no connection to shake hands on.
	unreached bool
	ending    ending
}

// handshake connects to a server as a client with the given pair (nil for none), of the TLS versions up to latest. ctx has
// to have a deadline. No session is ever resumed: a server that knows a client again need not verify it again.
func (c *Collector) handshake(ctx context.Context, at *place, pair *tls.Certificate, latest uint16) *greeting {
	raw, err := c.dial(ctx, "tcp", at.endpoint)
	if err != nil {
		return c.unreached(ctx, err)
	}
	defer raw.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := raw.SetDeadline(deadline); err != nil {
			return c.unreached(ctx, err)
		}
	}
	g := &greeting{sighting: &sighting{}}
	conn, tickets := &watchedConn{Conn: raw}, &ticketCounter{conn: raw}
	client := tls.Client(conn, clientConfig(at.probe, pair, g.sighting, latest, tickets))
	g.err = client.HandshakeContext(ctx)
	if g.err != nil {
		c.failures.Count(ctx, g.err)
	}
	switch {
	case g.err == nil:
		g.met = true
		g.ending = leave(client, conn, tickets)
	case !g.met:
		g.failure, g.detail = connection.Told(g.err), connection.Failure(ctx, g.err)
		return g
	}
	// A server that refuses the client has shown all the same what it accepts and presents.
	chain := client.ConnectionState().PeerCertificates
	if !at.kin.includes(chain) {
		*g.sighting = sighting{failure: connection.Unproven, detail: c.verify(chain, at.anchors, serverName(at.probe))}
		return g
	}
	g.presents, g.until = c.presented(chain, at.anchors)
	g.failure = c.verify(chain, at.anchors, serverName(at.probe))
	return g
}

func (c *Collector) unreached(ctx context.Context, err error) *greeting {
	c.failures.Count(ctx, err)
	return &greeting{
		sighting: &sighting{failure: connection.Told(err), detail: connection.Failure(ctx, err)}, err: err, unreached: true,
	}
}

// clientConfig takes any server, because what it presents is to be seen whether it can be verified or not.
func clientConfig(probe *trust.Probe, pair *tls.Certificate, found *sighting, latest uint16, tickets tls.ClientSessionCache) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		MaxVersion:         latest,
		ServerName:         serverName(probe),
		InsecureSkipVerify: true, //nolint:gosec // verify does it afterwards, and nothing is sent over this connection
		ClientSessionCache: tickets,
		// Called after the server has proven that it holds its key.
		GetClientCertificate: func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			found.met, found.asks = true, true
			found.subjects = subjectHashes(request.AcceptableCAs)
			if pair == nil {
				return &tls.Certificate{}, nil
			}
			return pair, nil
		},
	}
}

func subjectHashes(raw [][]byte) []string {
	hashes := make([]string, 0, min(len(raw), record.MaxFingerprints))
	for _, subject := range raw[:min(len(raw), record.MaxFingerprints)] {
		hashes = append(hashes, pki.SubjectHash(subject))
	}
	return hashes
}

// ticketCounter counts the session tickets that a server gives, and never uses one.
type ticketCounter struct {
	conn  net.Conn
	given int
}

// Get implements tls.ClientSessionCache.
func (*ticketCounter) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

// Put implements tls.ClientSessionCache. It is called by the goroutine that reads the connection.
func (t *ticketCounter) Put(_ string, session *tls.ClientSessionState) {
	if session != nil {
		t.given++
		_ = t.conn.SetReadDeadline(time.Now().Add(courtesy))
	}
}

// watchedConn notes that the other side has ended the stream. crypto/tls reports that and an orderly end of TLS alike.
type watchedConn struct {
	net.Conn
	ended bool
}

// Read implements net.Conn.
func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		c.ended = true
	}
	return n, err
}

func serverName(probe *trust.Probe) string {
	if probe.ServerName != "" {
		return probe.ServerName
	}
	host, _, err := net.SplitHostPort(probe.Address)
	if err != nil {
		return probe.Address
	}
	return host
}
