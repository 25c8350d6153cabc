// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Failures of servers that cannot be proven, with what to do about them.
const (
	asksNoClient   = "it asks for no client certificate, so it verifies no clients: make it verify them, or declare verifies: {nothing: true}"
	listsNothing   = "it lists no authorities whose clients it accepts: use proof: Handshake for its probe"
	takesAnyClient = "it completes a handshake with a client of an unknown CA, so a handshake does not show which CAs it " +
		"trusts: make it verify its clients in the handshake, or use another kind of evidence"
)

// look probes a process once. If doubtful, it also probes with a certificate of an unknown CA. A server that accepts
// that one has not shown that it verifies anything: some accept any client and refuse it later.
func (c *Collector) look(ctx context.Context, at *place, id *identity, p *trust.Party, doubtful bool) *probeResult {
	found := c.see(ctx, at, id, doubtful)
	if !found.met || found.failure != "" {
		return found
	}
	found.failure = id.failure
	if found.failure == "" && len(p.Verifies) > 0 {
		found.failure = unprovable(found, at.probe)
	}
	return found
}

// unprovable returns why the trust of a server cannot be proven, or "". What the server presents is observed anyway.
func unprovable(found *probeResult, probe *trust.Probe) string {
	switch {
	case !found.asks:
		return asksNoClient
	case !probe.Handshake && len(found.subjects) == 0:
		return listsNothing
	}
	return ""
}

func (c *Collector) see(ctx context.Context, at *place, id *identity, doubtful bool) *probeResult {
	if len(id.proofs) == 0 {
		found := c.handshake(ctx, at, id.pair, tls.VersionTLS13).probeResult
		if at.probe.Handshake {
			found.subjects = nil
		}
		return found
	}
	var (
		found  *probeResult
		trusts []pki.Fingerprint
	)
	for _, p := range id.proofs {
		one, says := c.carry(ctx, at, p.pair)
		if found != nil && one.met && !found.alike(one) {
			one.failure = differing(at.probe.Address)
		}
		found = found.and(one)
		switch {
		case says == saysYes:
			trusts = union(trusts, []pki.Fingerprint{p.ca})
		case !one.met:
			return found
		}
	}
	// A server need not trust all that it lists.
	found.subjects, found.trusts = nil, trusts
	if doubtful && len(found.trusts) > 0 {
		c.doubt(ctx, at, id, found)
	}
	return found
}

// doubt probes with the certificate of an unknown CA and drops what is trusted unless the server refuses it.
func (c *Collector) doubt(ctx context.Context, at *place, id *identity, found *probeResult) {
	one, says := c.carry(ctx, at, id.untrusted)
	if says == saysNo {
		return
	}
	found.trusts = nil
	if found.failure = one.failure; says == saysYes {
		found.failure = takesAnyClient
	}
}

// answer is how a server responds to a client certificate.
type answer int

const (
	// notAsked: the server asks for no client certificate.
	notAsked answer = iota
	saysYes
	saysNo
	// saysNothing: it remains unknown whether the server accepts the certificate.
	saysNothing
)

// carry does a handshake with a client leaf and returns the server's answer.
//
// With TLS 1.2 the server ends the handshake, after it has verified the client, so the end is the answer. That is why
// carry offers only TLS 1.2 first. With TLS 1.3 the client ends the handshake, and what the server does next is the
// answer.
func (c *Collector) carry(ctx context.Context, at *place, pair *tls.Certificate) (*probeResult, answer) {
	g := c.handshake(ctx, at, pair, tls.VersionTLS12)
	if !g.met && !g.unreached && at.patience.left > 0 && ctx.Err() == nil {
		g = c.handshake(ctx, at, pair, tls.VersionTLS13)
		return g.probeResult, g.answered(g.ending)
	}
	return g.probeResult, g.answered(endingAccepted)
}

// answered returns the answer to a client certificate. after is what follows a completed handshake.
func (g *greeting) answered(after ending) answer {
	switch {
	case !g.met:
		return saysNothing
	case !g.asks:
		return notAsked
	case g.refused:
		return saysNo
	case g.err != nil:
		g.failure = g.ended
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
