// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// issuedBy has the leaves of a world issued by another controller, and in half of the worlds the CAs. It changes what
// the API refuses beside an issuer: leaves of nodes, and evidence by renewal.
//
// All CAs of that issuer have one subject, so that a server's list of subjects proves none of them. Where they are the
// issuer's, the Secret of the signer has no keys: nobody signs leaves with them by hand, renews them with their keys,
// gives them other identifiers, or recovers them offline. An active CA gets no other identifier past the guard in any
// of these worlds: the issuer signs with the active CA alone, so that the former one cannot restore a lost leaf. For
// the same reason no member promises to load in time what is beside such a leaf.
func (t topology) issuedBy(d dice) topology {
	t.issued, t.issuedCA = true, in(d, 2, "the CA is the issuer's")
	t.outlived = t.issuedCA && in(d, 3, "leaves live longer than their CA")
	if t.onNodes() {
		t.servers = 2
	}
	for i, kind := range t.clientKinds {
		if kind == configv1alpha1.EvidenceRenewed {
			t.clientKinds[i] = configv1alpha1.EvidenceGracePeriod
		}
	}
	if slices.Contains(append([]configv1alpha1.EvidenceKind{t.serverKind}, t.clientKinds...), configv1alpha1.EvidenceGracePeriod) {
		t.beside = false
	}
	if t.issuedCA && t.serverKind == configv1alpha1.EvidenceTLSProbe {
		t.handshake, t.peers = true, t.peers || t.crossed
	}
	return t
}

// issuedIn is the Secret in which the issuer delivers what certrotation takes into another, "" without an issuer.
func (t topology) issuedIn(name string) string {
	if !t.issued {
		return ""
	}
	return "issued-" + name
}

// drawIssued draws a world with an issuer.
func drawIssued(d dice) topology { return drawTopology(d).issuedBy(d) }

// issuerEvents are what the issuer does by itself, at any time.
func issuerEvents(ca bool) []event {
	out := []event{
		{"the issuer answers", 4, plain((*world).issuerAnswers)},
		{"the issuer renews", 4, plain((*world).issuerRenews)},
	}
	if ca {
		out = append(out, event{"the issuer replaces its CA", 2, plain((*world).issuerReplaces)})
	}
	return out
}

// issuerAnswers issues what the issuer was asked for, or fails.
func (w *world) issuerAnswers() bool {
	var open []delivery
	for _, to := range w.deliveries() {
		if w.issuer.asked[to.secret] {
			open = append(open, to)
		}
	}
	if len(open) == 0 {
		return false
	}
	to := one(w.dice, "request", open)
	if in(w.dice, 4, "the issuer fails") {
		w.say("the issuer fails to issue %s", to.secret)
		w.counts.event(issuerFailed)
		w.issuer.asked[to.secret], w.issuer.failed[to.secret] = false, true
		return true
	}
	if !w.issue(to) {
		return false
	}
	w.say("the issuer issues %s, as asked", to.secret)
	return true
}

// issuerRenews issues a leaf when the issuer likes: with the CA that it has now, trusted or not.
func (w *world) issuerRenews() bool {
	var leaves []delivery
	for _, to := range w.deliveries() {
		if to.leaf != nil {
			leaves = append(leaves, to)
		}
	}
	if len(leaves) == 0 {
		return false
	}
	to := one(w.dice, "leaf", leaves)
	if !w.issue(to) {
		return false
	}
	w.say("the issuer renews %s", to.secret)
	w.counts.event(issuerRenewed)
	return true
}

// issuerReplaces replaces a CA in one write: it has the same subject, and another key.
func (w *world) issuerReplaces() bool {
	var cas []delivery
	for _, to := range w.deliveries() {
		if to.leaf == nil {
			cas = append(cas, to)
		}
	}
	to := one(w.dice, "CA", cas)
	if !w.issue(to) {
		return false
	}
	w.say("the issuer replaces its CA in %s", to.secret)
	w.counts.event(issuerReplaced)
	return true
}
