// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const (
	testNamespace = "certrotation-system"
	signerName    = "certrotation-signer"
)

var testTime = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newCA(t *testing.T, name string, validity time.Duration) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: validity}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func signerSecret(t *testing.T, ca *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := ca.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: signerName},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{inventory.ActiveCertKey: ca.CertPEM(), inventory.ActiveKeyKey: key},
	}
}

// notified is a listener whose channel holds one entry for each notice.
type notified chan struct{}

func (n notified) Enqueue() { n <- struct{}{} }

func newProvider(t *testing.T, clock *testclock.FakeClock, objects ...runtime.Object) (*Provider, *apifake.Server, notified) {
	t.Helper()
	api := apifake.New(t, clock, objects...)
	p, err := New(api.Client, Options{
		Namespace: testNamespace, SignerSecret: signerName, DNSNames: []string{"certrotation.certrotation-system.svc", "localhost"},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.queue.ShutDown)
	notices := make(notified, 10)
	p.AddListener(notices)
	return p, api, notices
}

func served(t *testing.T, p *Provider) *pki.Pair {
	t.Helper()
	cert, key := p.CurrentCertKeyContent()
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	pair, err := pki.ParsePair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestMintedLeaf(t *testing.T) {
	for name, test := range map[string]struct {
		signer time.Duration
		want   time.Duration
	}{
		"a day":                 {signer: 1000 * time.Hour, want: 24 * time.Hour},
		"clamped to the signer": {signer: 2 * time.Hour, want: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			ca := newCA(t, "ca@1", test.signer)
			p, _, notices := newProvider(t, testclock.NewFakeClock(testTime), signerSecret(t, ca))
			if err := p.Ready(); err == nil {
				t.Error("ready before the first leaf")
			}
			if err := p.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-notices
			if err := p.Ready(); err != nil {
				t.Error(err)
			}
			leaf := served(t, p)
			if got := leaf.Certificate.NotAfter.Sub(testTime); got != test.want {
				t.Errorf("valid for %s, want %s", got, test.want)
			}
			if !leaf.Certificate.SignedBy(ca.Certificate) || leaf.Certificate.KeyAlgorithm != pki.ECDSAP256 {
				t.Errorf("the leaf is %s by %s", leaf.Certificate.KeyAlgorithm, leaf.Certificate.Issuer)
			}
		})
	}
}

func TestSignerThatCannotBeUsed(t *testing.T) {
	leaf, err := newCA(t, "ca@1", time.Hour).Issue(pki.Profile{CommonName: "x", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	broken := signerSecret(t, newCA(t, "ca@1", time.Hour))
	broken.Data[inventory.ActiveKeyKey] = []byte("no key")
	for name, objects := range map[string][]runtime.Object{
		"missing": nil, "broken": {broken}, "no CA": {signerSecret(t, leaf)},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _ := newProvider(t, testclock.NewFakeClock(testTime), objects...)
			if err := p.RunOnce(t.Context()); err == nil {
				t.Error("no error")
			}
			if cert, key := p.CurrentCertKeyContent(); cert != nil || key != nil || p.Ready() == nil {
				t.Error("it serves with something")
			}
		})
	}
}

func TestRunFollowsTheSigner(t *testing.T) {
	clock := testclock.NewFakeClock(testTime)
	first, second := newCA(t, "ca@1", 1000*time.Hour), newCA(t, "ca@2", 1000*time.Hour)
	p, api, notices := newProvider(t, clock, signerSecret(t, first))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx, 1) }()
	<-notices
	if !served(t, p).Certificate.SignedBy(first.Certificate) {
		t.Error("the first leaf is not by the first CA")
	}
	if err := api.Put(signerSecret(t, second)); err != nil {
		t.Fatal(err)
	}
	<-notices
	if !served(t, p).Certificate.SignedBy(second.Certificate) {
		t.Error("the leaf is not by the CA that is active now")
	}
	cancel()
	<-done
}

func TestRenewal(t *testing.T) {
	clock := testclock.NewFakeClock(testTime)
	p, api, _ := newProvider(t, clock, signerSecret(t, newCA(t, "ca@1", 1000*time.Hour)))
	p.signer = &emptyStore{}
	if err := p.renew(t.Context(), only); err != nil {
		t.Fatal(err)
	}
	first, _ := p.CurrentCertKeyContent()
	clock.Step(15 * time.Hour)
	if err := p.renew(t.Context(), only); err != nil {
		t.Fatal(err)
	}
	if now, _ := p.CurrentCertKeyContent(); !bytes.Equal(now, first) {
		t.Error("renewed before two thirds of its life")
	}
	clock.Step(2 * time.Hour)
	api.ReadFault = func(*apifake.Request) apifake.Fault { return apifake.Unavailable }
	if err := p.renew(t.Context(), only); err == nil {
		t.Error("no error")
	}
	if now, _ := p.CurrentCertKeyContent(); !bytes.Equal(now, first) || p.Ready() != nil {
		t.Error("what was there did not stay")
	}
	clock.Step(8 * time.Hour)
	if p.Ready() == nil {
		t.Error("ready with an expired leaf")
	}
	api.ReadFault = nil
	if err := p.renew(t.Context(), only); err != nil {
		t.Fatal(err)
	}
	if now, _ := p.CurrentCertKeyContent(); bytes.Equal(now, first) || p.Ready() != nil {
		t.Error("not renewed")
	}
}

func TestCacheHoldsNoKey(t *testing.T) {
	kept, err := withoutKeys(signerSecret(t, newCA(t, "ca@1", time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range kept.(*corev1.Secret).Data {
		if bytes.Contains(value, []byte("PRIVATE KEY")) {
			t.Errorf("%s holds a key", name)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	client := apifake.New(t, testclock.NewFakeClock(testTime)).Client
	for name, opts := range map[string]Options{
		"no signer":  {Namespace: "n", DNSNames: []string{"x"}},
		"no names":   {Namespace: "n", SignerSecret: "s"},
		"a bad name": {Namespace: "n", SignerSecret: "s", DNSNames: []string{"not a name"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(client, opts); err == nil {
				t.Error("no error")
			}
		})
	}
}
