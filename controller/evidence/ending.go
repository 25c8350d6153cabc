// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"

	"certrotation.dev/controller/evidence/connection"
)

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
	_ = client.NetConn().SetDeadline(time.Now().Add(farewell))
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
