// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// TestUnfitNextIsNotPromoted: a CA for clients only got into next past the guard. All members acknowledge it. It
// must not sign or be promoted, because verifiers would refuse every server leaf. The blocker names a repair that
// works.
func TestUnfitNextIsNotPromoted(t *testing.T) {
	w := bootstrapped(t)
	active := w.d.Signer.Active
	w.d.Signer.Next = forClientsOnly(w)
	for range 3 {
		w.settle()
		w.reloadAll()
	}
	a := w.settle()
	if !same(w.d.Signer.Active, active) || len(w.d.Bundle.Anchors) != 2 {
		t.Fatalf("it was promoted: %v", w.done)
	}
	if server := w.leaf("server").Certificate; !server.SignedBy(active) {
		t.Errorf("the server's leaf was signed by %s", server.Issuer)
	}
	named := false
	for _, b := range a.Blockers {
		named = named || b.Object == "Secret/server" && b.Reason == ReasonUnfitSigner && strings.Contains(b.Message, "kubectl certrotation abort signer")
	}
	if !named {
		t.Errorf("no blocker names the way out: %+v", a.Blockers)
	}
	w.abort()
	for range 4 {
		w.settle()
		w.reloadAll()
	}
	if a := w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 || !same(w.d.Signer.Active, active) {
		t.Errorf("no rest after the abort: %s", outline(a))
	}
}

// TestVerifiersOfADomain: a CA is fit if the verifiers of the domain accept what it signs. Of one whose extended key
// usage is any, OpenSSL does not.
func TestVerifiersOfADomain(t *testing.T) {
	for name, tt := range map[string]struct {
		verifiers pki.Verifiers
		fit       bool
	}{
		"all":            {0, false},
		"OpenSSL and Go": {pki.OpenSSL | pki.Go, false},
		"Go":             {pki.Go, true},
		"GnuTLS":         {pki.GnuTLS, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			w.d.Verifiers = tt.verifiers
			w.d.Signer.Next = w.raw(foreign(w), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }, nil)
			w.settle()
			w.reloadAll()
			a := w.assess()
			promotes := slices.ContainsFunc(a.Actions, func(x Action) bool { return x.Kind == Promote })
			refused := slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonUnfitSigner && strings.Contains(b.Message, "OpenSSL") })
			if promotes != tt.fit || refused == tt.fit {
				t.Errorf("actions %+v, blockers %+v", a.Actions, a.Blockers)
			}
		})
	}
}

// TestUnfitNextOfNobody: an unfit CA is not promoted even if no leaf is live.
func TestUnfitNextOfNobody(t *testing.T) {
	w := newWorld(t)
	w.d.Signer.Present, w.d.Signer.Next = true, forClientsOnly(w)
	a := w.settle()
	if w.d.Signer.Active != nil || !a.Blocked() {
		t.Errorf("done %v, %s", w.done, outline(a))
	}
}

// TestLeafOfTheFuture: a leaf that is not yet valid got past the guard. It is a problem, and is reissued.
func TestLeafOfTheFuture(t *testing.T) {
	w := bootstrapped(t)
	l := w.leaf("server")
	l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotBefore = w.now.Add(2 * time.Hour) }, w.d.Signer.Active)
	if p := w.assess().ProblemOf("Secret/server"); p == nil || p.Reason != ReasonNotYetValid || !strings.Contains(p.Message, "it is reissued") {
		t.Errorf("problem %+v", p)
	}
	a := w.settle()
	if p := a.ProblemOf("Secret/server"); p != nil || !w.leaf("server").Certificate.ValidAt(w.now) {
		t.Errorf("it stays: %+v", p)
	}
}
