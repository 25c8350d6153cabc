// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// otherIdentifier returns a CA with the same key and name, and another subject key identifier, as some issuers
// renew theirs. Each leaf names the identifier of its own issuer, so OpenSSL does not accept the other CA as its
// issuer.
func otherIdentifier(w *world, ca *pki.Certificate) *pki.Certificate {
	return w.renewed(ca, func(c *x509.Certificate) { c.SubjectKeyId, c.AuthorityKeyId = []byte("another identifier"), nil })
}

// longerLived returns a CA that differs only in its validity, as most issuers renew theirs with the same key.
func longerLived(w *world, ca *pki.Certificate) *pki.Certificate {
	return w.renewed(ca, func(c *x509.Certificate) { c.NotAfter = c.NotAfter.Add(365 * day) })
}

// renewed returns a changed CA with the same key.
func (w *world) renewed(ca *pki.Certificate, change func(*x509.Certificate)) *pki.Certificate {
	made := w.raw(ca, change, nil)
	key, err := w.keys[ca.Fingerprint].KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	pair, err := pki.ParsePair(made.PEM(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[made.Fingerprint] = pair
	return made
}

// namesSerials has all leaves name the serial number of their issuer beside its key identifier, as those of
// `openssl ca` and of some CAs of old do.
func namesSerials(w *world) {
	issuer, err := x509.ParseCertificate(w.d.Signer.Active.DER())
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := asn1.Marshal(struct {
		KeyID  []byte          `asn1:"optional,tag:0"`
		Issuer []asn1.RawValue `asn1:"optional,tag:1"`
		Serial *big.Int        `asn1:"optional,tag:2"`
	}{issuer.SubjectKeyId, []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: issuer.RawSubject}}, issuer.SerialNumber})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range w.d.Leaves {
		l := &w.d.Leaves[i]
		l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 35}, Value: value}}
		}, w.d.Signer.Active)
	}
	w.reloadAll()
}

// TestRenewedBeforeItsTime: a CA that is not valid yet stands in for none, whoever has loaded it.
func TestRenewedBeforeItsTime(t *testing.T) {
	w := bootstrapped(t)
	former := w.d.Signer.Active
	early := w.renewed(former, func(c *x509.Certificate) { c.NotBefore, c.NotAfter = w.now.Add(day), c.NotAfter.Add(365*day) })
	w.d.Signer.Active, w.d.Bundle.Anchors = early, []*pki.Certificate{former, early}
	w.reloadAll()
	if anchor := w.assess().Anchors[0]; anchor.SafeToRemove || !slices.Contains(anchor.NeededBy, "Secret/server") {
		t.Errorf("needed by %q, safe to remove: %t", anchor.NeededBy, anchor.SafeToRemove)
	}
}

// TestRenewedWithAnotherIdentifier: past the guard, a CA with the same key and name but another identifier, or serial
// number, replaces the active one. The former anchor stays until every leaf that names the former is reissued, and
// presented.
func TestRenewedWithAnotherIdentifier(t *testing.T) {
	t.Run("identifier", func(t *testing.T) { renewWithAnother(t, func(*world) {}, otherIdentifier) })
	t.Run("serial number", func(t *testing.T) { renewWithAnother(t, namesSerials, longerLived) })
}

func renewWithAnother(t *testing.T, prepare func(*world), renew func(*world, *pki.Certificate) *pki.Certificate) {
	t.Helper()
	w := bootstrapped(t)
	prepare(w)
	former := w.d.Signer.Active
	renewed := renew(w, former)
	w.d.Signer.Active = renewed
	safe := func() bool {
		for _, anchor := range w.assess().Anchors {
			if same(anchor.Certificate, former) {
				return anchor.SafeToRemove
			}
		}
		return true
	}
	names := func(c *pki.Certificate) bool { return c.SignedBy(former) && !c.Identifies(renewed, 0) }
	leaves := map[string]*pki.Certificate{}
	for _, l := range w.d.Leaves {
		leaves[l.Name] = l.Certificate
	}
	if !names(leaves["server"]) || safe() {
		t.Error("the anchor is safe to remove, or no leaf names it")
	}
	for i := range 12 {
		if i%2 == 0 {
			w.settle()
		} else {
			w.reloadAll()
		}
		if i == 0 && !w.leaf("server").Certificate.Identifies(former, 0) {
			t.Error("a leaf names the new identifier before anybody has loaded the renewed CA")
		}
		for _, l := range w.d.Leaves {
			if i%2 == 1 {
				leaves[l.Name] = l.Certificate
			}
			if (names(l.Certificate) || names(leaves[l.Name])) && safe() {
				t.Fatalf("round %d: the anchor is safe to remove, and %s, or who presents it, names it", i, l.Name)
			}
		}
	}
	a := w.settle()
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; names(l.Certificate) {
			t.Errorf("%s was not reissued", l.Name)
		}
	}
	if a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("no rest: %s", outline(a))
	}
}

// TestLostEvidenceOfAnotherIdentifier: leaves name the identifier of the renewed CA, and a member that was waived, or
// has come back from an older disk, has the former CA alone. The former anchor stays for it, and the blocker names it.
func TestLostEvidenceOfAnotherIdentifier(t *testing.T) {
	w := bootstrapped(t)
	former := w.d.Signer.Active
	w.d.Signer.Active = otherIdentifier(w, former)
	w.settle()
	w.reloadAll()
	w.settle()
	w.reloadAll()
	m := w.member("client-a")
	for i := range m.Observations {
		m.Observations[i].Trusts = []pki.Fingerprint{former.Fingerprint}
	}
	a := w.settle()
	if a.Stage != Draining || !slices.ContainsFunc(w.d.Bundle.Anchors, former.Equal) {
		t.Fatalf("the former anchor is removed: %s", outline(a))
	}
	named := func(b Blocker) bool { return b.Party == "client-a" && b.Reason == ReasonAnchorNotLoaded }
	if len(a.Blockers) != 1 || !slices.ContainsFunc(a.Blockers, named) {
		t.Errorf("the blockers are not the member that lacks the renewed CA: %s", outline(a))
	}
	w.reloadAll()
	if a := w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("no rest: %s", outline(a))
	}
}

// TestIdentifierOfAnAnchorThatIsGone: the former anchor has already left the bundle. Only the identifier shows
// that a leaf belongs to another certificate of its issuer.
func TestIdentifierOfAnAnchorThatIsGone(t *testing.T) {
	w := bootstrapped(t)
	renewed := otherIdentifier(w, w.d.Signer.Active)
	w.d.Signer.Active, w.d.Bundle.Anchors = renewed, []*pki.Certificate{renewed}
	for range 3 {
		w.reloadAll()
		w.settle()
	}
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; !l.Certificate.Identifies(renewed, 0) {
			t.Errorf("%s was not reissued", l.Name)
		}
	}
}

// TestRenewedCAWithItsFormerKept: the CA was renewed with its key by hand, and the former certificate kept as previous.
// Its anchor leaves the bundle once, and does not come back.
func TestRenewedCAWithItsFormerKept(t *testing.T) {
	for name, renew := range map[string]func(*world, *pki.Certificate) *pki.Certificate{
		"the same identifier": longerLived, "another identifier": otherIdentifier,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.party("server").Kind = Acknowledgement
			w.settle()
			w.reloadAll()
			s := &w.d.Signer
			s.Active, s.Previous = renew(w, s.Active), []*pki.Certificate{s.Active}
			for range 6 {
				w.settle()
				w.reloadAll()
			}
			if a := w.settle(); a.Stage != Stable || len(s.Previous) > 0 || len(w.d.Bundle.Anchors) != 1 {
				t.Errorf("no rest: %s", outline(a))
			}
		})
	}
}

// TestNoLeafProvesAnotherIdentifier: the CA has got another identifier, and every leaf is missing, or was put there
// before its time. So no leaf shows that its verifiers have loaded the renewed CA, and they refuse what names its
// identifier until they have.
func TestNoLeafProvesAnotherIdentifier(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(w *world, l *Leaf, renewed *pki.Certificate)
		// lapsed says that nothing is known of the members any more.
		lapsed bool
	}{
		{name: "missing", lose: func(_ *world, l *Leaf, _ *pki.Certificate) { l.Present, l.Certificate = false, nil }},
		{name: "early", lapsed: true, lose: func(w *world, l *Leaf, renewed *pki.Certificate) {
			l.Certificate = signedLeafAt(w, l.Name, renewed, w.now.Add(day))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			renewed := otherIdentifier(w, w.d.Signer.Active)
			w.d.Signer.Active = renewed
			for i := range w.d.Leaves {
				tt.lose(w, &w.d.Leaves[i], renewed)
			}
			for _, name := range []string{"server", "client-a", "client-b"} {
				if tt.lapsed {
					w.member(name).Observations = nil
				}
			}
			issued := func() bool {
				l := w.leaf("server")
				return l.Present && l.Certificate.Identifies(renewed, 0) && l.Certificate.ValidAt(w.now)
			}
			if a := w.settle(); !slices.ContainsFunc(w.d.Bundle.Anchors, renewed.Equal) || issued() {
				t.Fatalf("the leaf was signed before its verifiers have loaded the renewed CA: %s", outline(a))
			}
			w.reload("client-a", "client-b")
			if a := w.settle(); !issued() {
				t.Errorf("the leaf is not signed by the renewed CA although everybody has loaded it: %s", outline(a))
			}
		})
	}
}

// TestRenewedWithItsKey: a CA with the same key, name and identifier but a longer validity replaces the active
// one, which the guard admits. If members can show the new CA, the former anchor is removed. A probe cannot tell
// the two apart, by a list or by handshakes. Then a rotation to another key follows, before the leaves end with
// the former CA.
func TestRenewedWithItsKey(t *testing.T) {
	for name, tt := range map[string]struct {
		server  EvidenceKind
		shows   func(o *Observation, ca *pki.Certificate)
		rotated bool
	}{
		"by a list": {TLSProbe, func(o *Observation, ca *pki.Certificate) {
			o.TrustedSubjects = append(o.TrustedSubjects, ca.SubjectHash)
		}, true},
		"by handshakes":     {TLSProbe, func(o *Observation, ca *pki.Certificate) { o.Trusts = append(o.Trusts, ca.Fingerprint) }, true},
		"by what is loaded": {Acknowledgement, func(o *Observation, ca *pki.Certificate) { o.Trusts = append(o.Trusts, ca.Fingerprint) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.party("server").Kind = tt.server
			w.settle()
			reload := func() {
				w.reloadAll()
				m := w.member("server")
				for i := range m.Observations {
					o := &m.Observations[i]
					o.Trusts = nil
					for _, ca := range w.d.Bundle.Anchors {
						tt.shows(o, ca)
					}
				}
			}
			reload()
			former := w.d.Signer.Active
			renewed := longerLived(w, former)
			after := w.clone()
			after.Signer.Active = renewed
			if found := Judge(w.clone(), after, w.now); len(found) > 0 {
				t.Fatalf("refused: %+v", found)
			}
			w.d.Signer.Active = renewed
			w.settle()
			if waits := w.assess().Blockers; !tt.rotated && !slices.ContainsFunc(waits, func(b Blocker) bool { return b.Party == "server" }) {
				t.Errorf("before the server has loaded it: %v", waits)
			}
			for range 6 {
				reload()
				w.settle()
			}
			a := w.assess()
			if a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 || len(a.Actions) > 0 {
				t.Fatalf("no rest: %s", outline(a))
			}
			if rotated := !same(w.d.Signer.Active, renewed); rotated != tt.rotated {
				t.Errorf("rotated: %t", rotated)
			}
		})
	}
}

// TestWaiverBesideATwin: only the CAs decide whether a waiver is for this rotation. Deciding by what members show
// would recurse without end, because that depends on their waivers.
func TestWaiverBesideATwin(t *testing.T) {
	w := newWorld(t)
	w.party("server").Kind = TLSProbe
	w.settle()
	w.reloadAll()
	w.settle()
	former := w.d.Signer.Active
	w.d.Signer.Active = longerLived(w, former)
	w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, w.d.Signer.Active)
	w.d.Waivers = []Waiver{{
		Party: "server", Member: w.member("server").Name, Reason: "it is gone", Expires: w.now.Add(day), Rotation: RotationOf(&w.d),
	}}
	if in := WaiversInForce(&w.d, w.now); len(in) != 1 {
		t.Error("the waiver is not in force")
	}
	if a := w.assess(); slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Party == "server" }) {
		t.Errorf("the server is waited for: %v", a.Blockers)
	}
}

// TestRenewedWithItsKeyAndShownByRenewal: a leaf older than the renewed CA proves nothing about that CA. So it is
// reissued at once, not when it is due.
func TestRenewedWithItsKeyAndShownByRenewal(t *testing.T) {
	w := newWorld(t)
	w.party("server").Kind = Acknowledgement
	p := w.party("client-a")
	p.Kind, p.Grace = Renewed, time.Minute
	rest := func() *Assessment {
		for range 6 {
			w.settle()
			w.reloadAll()
			w.now = w.now.Add(2 * time.Minute)
		}
		return w.settle()
	}
	rest()
	w.d.Signer.Active = longerLived(w, w.d.Signer.Active)
	if a := rest(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 || len(a.Blockers) > 0 {
		t.Errorf("no rest: %s, %v", outline(a), a.Blockers)
	}
}
