// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"

	"certrotation.dev/controller/evidence/connection"
)

// answer is what a server says to a client certificate.
type answer int

const (
	// notAsked: it does not ask for one.
	notAsked answer = iota
	saysYes
	saysNo
	// saysNothing: whether it accepts it was not to be seen.
	saysNothing
)

// carry carries a handshake through with a client leaf and says what the server's answer to it is.
//
// With TLS 1.2 the server ends the handshake, after it has verified the client: its end is the answer. So that is all that
// is offered at first. With TLS 1.3 the client ends it, and what the server does next is the answer.
func (c *Collector) carry(ctx context.Context, at *place, pair *tls.Certificate) (*sighting, answer) {
	g := c.handshake(ctx, at, pair, tls.VersionTLS12)
	if !g.met && !g.unreached && ctx.Err() == nil {
		g = c.handshake(ctx, at, pair, tls.VersionTLS13)
		return g.sighting, g.answered(ctx, g.ending)
	}
	return g.sighting, g.answered(ctx, endingAccepted)
}

// answered is the answer to a client certificate, where a handshake that was carried through is followed by after.
func (g *greeting) answered(ctx context.Context, after ending) answer {
	switch {
	case !g.met:
		return saysNothing
	case !g.asks:
		return notAsked
	case g.err != nil && connection.Refused(ctx, g.err):
		return saysNo
	case g.err != nil:
		g.failure = connection.Failure(ctx, g.err)
		return saysNothing
	}
	switch after {
	case endingAccepted:
		return saysYes
	case endingRefused:
		return saysNo
	case endingUnknown, endingSilent:
	}
	g.failure = "it does not say in time whether it accepts its client"
	return saysNothing
}
