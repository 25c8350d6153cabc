// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// place is where one process is looked at, and what it is to be judged by.
type place struct {
	probe *trust.Probe
	// endpoint is IP:PORT.
	endpoint string
	anchors  []*pki.Certificate
	kin      *kin
	// patience is for all connections that one goroutine makes there.
	patience *patience
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
	// refused says that the server has ended it, and ended puts err into words.
	refused bool
	ended   string
	// unreached says that there was no connection to shake hands on.
	unreached bool
	ending    ending
}

// handshake connects to a server, when it is its turn, as a client with the given pair (nil for none), of the TLS versions up
// to latest.
func (c *Collector) handshake(ctx context.Context, at *place, pair *tls.Certificate, latest uint16) *greeting {
	if err := c.turns.wait(ctx); err != nil {
		// The whole look is void, as ctx has ended.
		return &greeting{sighting: &sighting{failure: connection.Unproven}, err: err, unreached: true}
	}
	ctx, end := at.patience.begin(ctx)
	defer end()
	raw, err := connection.Dial(ctx, c.dial, at.endpoint)
	if err != nil {
		return c.unreached(ctx, err)
	}
	defer raw.Close()
	conn, tickets, name := &watchedConn{Conn: raw}, &ticketCounter{conn: raw}, serverName(at.probe)
	client, shown, err := (&connection.Client{Pair: pair, ServerName: name, Latest: latest, Tickets: tickets}).Shake(ctx, conn)
	g := &greeting{sighting: &sighting{met: shown.Met, asks: shown.Asks, subjects: shown.Subjects}, err: err}
	if err != nil {
		c.failures.Count(ctx, err)
		g.refused, g.ended = connection.Refused(ctx, err), connection.Failure(ctx, err)
	}
	switch {
	case err == nil:
		g.ending = leave(client, conn, tickets)
	case !g.met:
		g.failure, g.detail = connection.Told(err), g.ended
		return g
	}
	if !at.kin.includes(shown.Presents) {
		*g.sighting = sighting{failure: connection.Unproven, detail: pki.Refusal(shown.Presents, at.anchors, name, c.clock.Now())}
		return g
	}
	g.presents, g.until = c.presented(shown.Presents, at.anchors)
	g.failure = pki.Refusal(shown.Presents, at.anchors, name, c.clock.Now())
	return g
}

func (c *Collector) unreached(ctx context.Context, err error) *greeting {
	c.failures.Count(ctx, err)
	return &greeting{
		sighting: &sighting{failure: connection.Told(err), detail: connection.Failure(ctx, err)}, err: err, unreached: true,
	}
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

// ending is what a server does after a handshake that the client's side has carried through. With TLS 1.3 the server
// verifies the client only then.
type ending int

const (
	// endingUnknown: nothing that tells anything.
	endingUnknown ending = iota
	// endingAccepted: the server goes on. A session ticket, data, and an orderly end of TLS come from a server that has
	// taken the client's certificate: one that refuses it has to end with an alert, or drops the connection.
	endingAccepted
	// endingRefused: it ends with an alert, or drops the connection.
	endingRefused
	// endingSilent: it does nothing in time.
	endingSilent
)

// leave closes the connection in order and reads what the server still sends, so that it does not see a reset in the
// middle of its own handshake.
//
// An orderly end is an alert close_notify, which is part of TLS. That the stream ends is not: it may do so for any reason.
func leave(client *tls.Conn, conn *watchedConn, tickets *ticketCounter) ending {
	patience := farewell
	if client.ConnectionState().Version < tls.VersionTLS13 {
		patience = courtesy
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	// A server that has gone already shows in what is read.
	_ = client.CloseWrite()
	data, err := io.CopyN(io.Discard, client, farewellBytes)
	switch {
	case connection.Alerted(err):
		return endingRefused
	case tickets.given > 0 || data > 0:
		return endingAccepted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return endingSilent
	case errors.Is(err, io.EOF) && !conn.ended:
		return endingAccepted
	}
	return endingRefused
}
