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

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// place is where one process is probed, and what its answer is judged by.
type place struct {
	probe *trust.Probe
	// endpoint is IP:PORT.
	endpoint string
	anchors  []*pki.Certificate
	domain   *domainMatcher
	// patience is shared by all connections that one goroutine makes there.
	patience *patience
}

// farewell and farewellBytes bound the time and the bytes read from a server after the client has closed its side.
// courtesy is the time once the answer is known: some servers keep the connection open.
const (
	farewell      = time.Second
	farewellBytes = 64 << 10
	courtesy      = 200 * time.Millisecond
)

// greeting is the result of one handshake.
type greeting struct {
	*probeResult
	// err is the handshake's error.
	err error
	// refused reports whether the server ended the handshake. ended describes err.
	refused bool
	ended   string
	// unreached reports that there was no connection for a handshake.
	unreached bool
	ending    ending
}

// handshake waits for its turn and connects as a client with the given pair, which may be nil, with TLS versions up
// to latest.
func (c *Collector) handshake(ctx context.Context, at *place, pair *tls.Certificate, latest uint16) *greeting {
	if err := c.turns.wait(ctx); err != nil {
		// The caller discards the whole observation, because ctx has ended.
		return &greeting{probeResult: &probeResult{failure: dial.Unproven}, err: err, unreached: true}
	}
	ctx, end := at.patience.begin(ctx)
	defer end()
	raw, err := dial.Dial(ctx, c.dial, at.endpoint)
	if err != nil {
		return c.unreached(ctx, err)
	}
	defer raw.Close()
	conn, tickets, name := &watchedConn{Conn: raw}, &ticketCounter{conn: raw}, serverName(at.probe)
	client, shown, err := (&dial.Client{Pair: pair, ServerName: name, Latest: latest, Tickets: tickets}).Shake(ctx, conn)
	g := &greeting{probeResult: &probeResult{met: shown.Met, asks: shown.Asks, subjects: shown.Subjects}, err: err}
	if err != nil {
		c.failures.Count(ctx, err)
		g.refused, g.ended = dial.Refused(ctx, err), dial.Failure(ctx, err)
	}
	switch {
	case err == nil:
		g.ending = leave(client, conn, tickets)
	case !g.met:
		g.failure, g.detail = dial.Told(err), g.ended
		return g
	}
	if !at.domain.includes(shown.Presents) {
		*g.probeResult = probeResult{failure: dial.Unproven, detail: pki.Refusal(shown.Presents, at.anchors, name, c.clock.Now())}
		return g
	}
	g.presents, g.until = c.presented(shown.Presents, at.anchors)
	g.failure = pki.Refusal(shown.Presents, at.anchors, name, c.clock.Now())
	return g
}

func (c *Collector) unreached(ctx context.Context, err error) *greeting {
	c.failures.Count(ctx, err)
	return &greeting{
		probeResult: &probeResult{failure: dial.Told(err), detail: dial.Failure(ctx, err)}, err: err, unreached: true,
	}
}

// ticketCounter counts the server's session tickets and never uses one.
type ticketCounter struct {
	conn  net.Conn
	given int
}

// Get implements tls.ClientSessionCache.
func (*ticketCounter) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

// Put implements tls.ClientSessionCache. The goroutine that reads the connection calls it.
func (t *ticketCounter) Put(_ string, session *tls.ClientSessionState) {
	if session != nil {
		t.given++
		_ = t.conn.SetReadDeadline(time.Now().Add(courtesy))
	}
}

// watchedConn records whether the peer has ended the stream. crypto/tls reports that and close_notify alike.
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

// ending is what a server does after the client has completed its side of the handshake. With TLS 1.3 the server
// verifies the client only then.
type ending int

const (
	// endingUnknown: no conclusion is possible.
	endingUnknown ending = iota
	// endingAccepted: the server sends a session ticket, data or close_notify, so it has accepted the client's
	// certificate. A server that refuses it must send an alert, or drops the connection.
	endingAccepted
	// endingRefused: the server sends an alert or drops the connection.
	endingRefused
	// endingSilent: the server does nothing in time.
	endingSilent
)

// leave closes the connection in order and reads what the server still sends, so that the server sees no reset during
// its own handshake.
//
// A close_notify alert, which is part of TLS, is an orderly end. The end of the stream is not: it may have any
// reason.
func leave(client *tls.Conn, conn *watchedConn, tickets *ticketCounter) ending {
	patience := farewell
	if client.ConnectionState().Version < tls.VersionTLS13 {
		patience = courtesy
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	// If the server is already gone, the read below shows it.
	_ = client.CloseWrite()
	data, err := io.CopyN(io.Discard, client, farewellBytes)
	switch {
	case dial.Alerted(err):
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
