// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"fmt"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Texts of what a server cannot be proven by, with what to do about it.
const (
	asksNobody   = "it asks for no client certificate, so it verifies nobody: have it verify its clients, or declare verifies: {nothing: true}"
	listsNothing = "it lists no authorities whose clients it accepts: use proof: Handshake for its probe"
	takesAnybody = "it carries a handshake through with a client of a CA that nobody knows, so a handshake does not show whom it " +
		"verifies: have it verify its clients in the handshake, or use another kind of evidence"
)

// look looks at a process once. A doubtful look has the stranger try as well: who accepts that one too has not shown that it
// verifies anything.
func (c *Collector) look(ctx context.Context, at *place, id *identity, p *trust.Party, doubtful bool) *sighting {
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

// unprovable says why nothing that a server trusts can be proven, "" if it can. What it presents is seen all the same.
func unprovable(found *sighting, probe *trust.Probe) string {
	switch {
	case !found.asks:
		return asksNobody
	case !probe.Handshake && len(found.subjects) == 0:
		return listsNothing
	}
	return ""
}

func (c *Collector) see(ctx context.Context, at *place, id *identity, doubtful bool) *sighting {
	if len(id.proofs) == 0 {
		found := c.handshake(ctx, at, id.pair, tls.VersionTLS13).sighting
		if at.probe.Handshake {
			found.subjects = nil
		}
		return found
	}
	var (
		found  *sighting
		trusts []pki.Fingerprint
	)
	for _, p := range id.proofs {
		one, says := c.carry(ctx, at, p.pair)
		if found != nil && one.met && !found.alike(one) {
			one.failure = fmt.Sprintf(severalProcesses, at.probe.Address)
		}
		found = found.and(one)
		switch {
		case says == saysYes:
			trusts = union(trusts, []pki.Fingerprint{p.ca})
		case !one.met:
			return found
		}
	}
	// What it lists need not be what it trusts.
	found.subjects, found.trusts = nil, trusts
	if doubtful && len(found.trusts) > 0 {
		c.doubt(ctx, at, id, found)
	}
	return found
}

// doubt has the stranger try.
func (c *Collector) doubt(ctx context.Context, at *place, id *identity, found *sighting) {
	one, says := c.carry(ctx, at, id.stranger)
	if says == saysNo {
		return
	}
	found.trusts = nil
	if found.failure = one.failure; says == saysYes {
		found.failure = takesAnybody
	}
}
