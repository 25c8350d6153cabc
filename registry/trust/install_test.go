// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// ask performs RequestAuthority: it makes a key and a request.
func (w *world) ask(p pki.Profile) {
	w.now = w.now.Add(time.Second)
	p.CommonName = pki.GenerationName(w.d.Namespace, w.d.Signer.Name, w.now)
	request, key, err := pki.NewRequest(p)
	if err != nil {
		w.t.Fatal(err)
	}
	w.d.Signer.Request, w.requested = request, key
}

// take performs InstallNext.
func (w *world) take(r *Request) {
	ca, issuers := installed(w.d.Signer.Request, r.Certificates)
	after := w.d.withInstalled(ca, issuers)
	w.d.Signer = after.Signer
	pair, err := pki.ParsePair(pki.EncodeCertificates(append([]*pki.Certificate{ca}, after.issuersOf(ca)...)...), w.requested)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[ca.Fingerprint] = pair
}

// signed is what the owner of a root makes of the request.
func (w *world) signed(root *pki.Pair, change func(*x509.Certificate)) *pki.Certificate {
	w.t.Helper()
	block, _ := pem.Decode(w.d.Signer.Request.PEM())
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	issuer, err := x509.ParseCertificate(root.Certificate.DER())
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(w.now.UnixNano()), Subject: request.Subject, NotBefore: w.now.Add(-time.Minute), NotAfter: w.now.Add(5 * 365 * day),
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if change != nil {
		change(template)
	}
	w.keys[root.Certificate.Fingerprint] = root
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, request.PublicKey, w.key(root.Certificate))
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := pki.ParseCertificate(der)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// install hands certificates over, as the API does.
func (w *world) install(certs ...*pki.Certificate) error {
	if _, err := PlanInstall(&w.d, certs, w.now); err != nil {
		return err
	}
	w.addRequest(Request{Kind: RequestInstall, Secret: w.d.Signer.Name, Certificates: certs})
	return nil
}

// asking returns a world whose signer, an intermediate, has requested its next CA.
func asking(t *testing.T) (*world, *pki.Pair) {
	w, root := underRoot(t)
	w.request("test")
	w.settle()
	return w, root
}

// TestRequestedAuthority: the rotation of an intermediate waits for a certificate, by name, and changes nothing before.
func TestRequestedAuthority(t *testing.T) {
	w, root := asking(t)
	a := w.settle()
	if a.Stage != Stable || w.d.Signer.Request == nil || w.asked("signer") || len(a.Blockers) != 1 || a.Blockers[0].Reason != ReasonAuthorityRequested {
		t.Fatalf("stage %s, blockers %v, done %v", a.Stage, a.Blockers, w.done)
	}
	for _, text := range []string{"kubectl certrotation csr -n demo signer", "have CN=Acme Root 1 sign it", "kubectl certrotation install-ca -n demo signer FILE"} {
		if !strings.Contains(a.Blockers[0].Message, text) {
			t.Errorf("the blocker does not say %q: %s", text, a.Blockers[0].Message)
		}
	}
	if _, err := PlanRotation(&w.d, "signer", w.now); err == nil || !strings.Contains(err.Error(), "waits for the certificate") {
		t.Errorf("a second rotation: %v", err)
	}
	former := w.d.Signer.Active
	if err := w.install(w.signed(root, nil)); err != nil {
		t.Fatal(err)
	}
	w.done = nil
	if a = w.settle(); a.Stage != Stable || same(w.d.Signer.Active, former) || w.subjects() != "Acme Root 1" || len(w.d.Requests) > 0 {
		t.Errorf("stage %s, bundle %s, blockers %v, requests %v", a.Stage, w.subjects(), a.Blockers, w.d.Requests)
	}
	if w.done[0] != "InstallNext signer" || slices.Contains(w.done, "PublishAnchors bundle") {
		t.Errorf("steps %v", w.done)
	}
}

// TestInstalledUnderNewRoot: the new root is distributed before the CA signs.
func TestInstalledUnderNewRoot(t *testing.T) {
	w, _ := asking(t)
	second := w.root("Acme Root 2")
	// The order of the file does not matter.
	if err := w.install(second.Certificate, w.signed(second, nil)); err != nil {
		t.Fatal(err)
	}
	if a := w.settle(); a.Stage != Distributing || w.subjects() != "Acme Root 1, Acme Root 2" {
		t.Fatalf("stage %s, bundle %s, blockers %v", a.Stage, w.subjects(), a.Blockers)
	}
	var a *Assessment
	for range 3 {
		w.reloadAll()
		a = w.settle()
	}
	if a.Stage != Stable || w.subjects() != "Acme Root 2" {
		t.Errorf("stage %s, bundle %s, blockers %v", a.Stage, w.subjects(), a.Blockers)
	}
}

// TestExpiredIntermediate: an expired intermediate is not replaced by a self-signed CA either.
func TestExpiredIntermediate(t *testing.T) {
	w, _ := underRoot(t)
	w.now = w.now.Add(6 * 365 * day)
	w.settle()
	if s := &w.d.Signer; s.Request == nil || s.Next != nil || len(s.Previous) > 0 {
		t.Errorf("done %v", w.done)
	}
}

// TestDroppedRequest: an abort gives the request up, and the guard lets the key go only then.
func TestDroppedRequest(t *testing.T) {
	w, _ := asking(t)
	edit := func() []Violation {
		d := w.clone()
		d.Signer.Request = nil
		return Judge(&w.d, d, w.now)
	}
	if found := edit(); len(found) != 1 || found[0].Invariant != ContentDecides || !strings.Contains(found[0].SafeWay, "abort") {
		t.Errorf("without an abort: %v", found)
	}
	if plan, err := PlanAbort(&w.d, w.now); err != nil || len(plan.Steps) != 1 {
		t.Errorf("plan %v, %v", plan, err)
	}
	w.abort()
	if found := edit(); len(found) > 0 {
		t.Errorf("with an abort: %v", found)
	}
	if a := w.settle(); w.d.Signer.Request != nil || len(a.Blockers)+len(w.d.Requests) > 0 {
		t.Errorf("blockers %v, requests %v", a.Blockers, w.d.Requests)
	}
}

func TestRefusedInstallation(t *testing.T) {
	tests := map[string]struct {
		certs     func(*world, *pki.Pair) []*pki.Certificate
		invariant Invariant
		says      string
	}{
		"nothing is requested": {func(w *world, root *pki.Pair) []*pki.Certificate {
			ca := w.signed(root, nil)
			w.d.Signer.Request = nil
			return []*pki.Certificate{ca}
		}, ContentDecides, "has requested no CA: ask for a rotation first, with `kubectl certrotation rotate -n demo signer`"},
		"for another key": {func(w *world, root *pki.Pair) []*pki.Certificate {
			return []*pki.Certificate{w.under(root), root.Certificate}
		}, PairMatches, "no certificate is for the key of the request"},
		"no CA": {func(w *world, root *pki.Pair) []*pki.Certificate {
			return []*pki.Certificate{w.signed(root, func(c *x509.Certificate) {
				c.IsCA, c.MaxPathLenZero, c.KeyUsage = false, false, x509.KeyUsageDigitalSignature
			})}
		}, TrustBeforeUse, "is no CA: have it signed with basicConstraints CA:TRUE"},
		"its root is not known": {func(w *world, _ *pki.Pair) []*pki.Certificate {
			return []*pki.Certificate{w.signed(w.root("Acme Root 2"), nil)}
		}, TrustBeforeUse, "is not known: add its issuers, from CN=Acme Root 2 up"},
		"expired": {func(w *world, root *pki.Pair) []*pki.Certificate {
			return []*pki.Certificate{w.signed(root, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Second) })}
		}, TrustBeforeUse, "not now"},
		"a root of the name of the former": {func(w *world, _ *pki.Pair) []*pki.Certificate {
			other := w.root("Acme Root 1")
			return []*pki.Certificate{w.signed(other, nil), other.Certificate}
		}, ContentDecides, "has the subject CN=Acme Root 1, with another key"},
		"for clients only": {func(w *world, root *pki.Pair) []*pki.Certificate {
			return []*pki.Certificate{w.signed(root, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })}
		}, TrustBeforeUse, "could not sign Secret/server so that it is accepted"},
		"below a root for other names": {func(w *world, _ *pki.Pair) []*pki.Certificate {
			root := w.root("Elsewhere Root")
			w.keys[root.Certificate.Fingerprint] = root
			limited := w.raw(root.Certificate, func(c *x509.Certificate) {
				c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"elsewhere.example"}
			}, nil)
			return []*pki.Certificate{w.signed(root, nil), limited}
		}, TrustBeforeUse, "or do not accept its constraints"},
		"below a root that permits none": {func(w *world, _ *pki.Pair) []*pki.Certificate {
			short := w.root("Short Root")
			w.keys[short.Certificate.Fingerprint] = short
			forbids := w.raw(short.Certificate, func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true }, nil)
			return []*pki.Certificate{w.signed(short, nil), forbids}
		}, TrustBeforeUse, "the path length of CN=Short Root permits 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, root := asking(t)
			certs := tt.certs(w, root)
			err := w.install(certs...)
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || refusal.Invariant != tt.invariant || !strings.Contains(refusal.Message, tt.says) {
				t.Fatalf("%v, want %s %q", err, tt.invariant, tt.says)
			}
			// A request that was recorded nevertheless is answered, and has no effect.
			w.addRequest(Request{Kind: RequestInstall, Secret: "signer", Certificates: certs})
			if w.settle(); len(w.d.Requests) > 0 || w.d.Signer.Next != nil {
				t.Errorf("requests %v, next %v", w.d.Requests, w.d.Signer.Next)
			}
		})
	}
}
