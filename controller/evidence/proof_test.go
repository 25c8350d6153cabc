// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
)

// TestHandshakeProves: with proof Handshake, what a server has verified counts, and not the CAs that it lists.
func TestHandshakeProves(t *testing.T) {
	active, next, foreign := newAuthority(t, "ca@1"), newAuthority(t, "ca@2"), newAuthority(t, "foreign")
	leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
	client := newLeaf(t, active, "client", pki.ClientAuth)
	server := func(change func(*tls.Config)) *tls.Config {
		config := &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(active, next),
			Certificates: []tls.Certificate{keyPair(t, leaf)},
		}
		change(config)
		return config
	}
	// silently verifies in VerifyConnection, so that the listed CAs differ from the trusted ones.
	silently := func(accepts ...*pki.Pair) func(*tls.Config) {
		return func(c *tls.Config) {
			c.ClientAuth, c.ClientCAs = tls.RequireAnyClientCert, pool(foreign)
			c.VerifyConnection = func(state tls.ConnectionState) error {
				_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
					Roots: pool(accepts...), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
				})
				return err
			}
		}
	}
	latest := func(change func(*tls.Config)) func(*tls.Config) {
		return func(c *tls.Config) { change(c); c.MinVersion = tls.VersionTLS13 }
	}
	ticketless := func(change func(*tls.Config)) func(*tls.Config) {
		return func(c *tls.Config) { change(c); c.SessionTicketsDisabled = true }
	}
	same := func(*tls.Config) {}
	for _, test := range []struct {
		name   string
		change func(*tls.Config)
		want   trust.Observation
	}{
		{name: "both, TLS 1.2", change: same, want: trust.Observation{Trusts: prints(active, next)}},
		{name: "both, TLS 1.3 only, by its ticket", change: latest(same), want: trust.Observation{Trusts: prints(active, next)}},
		{
			name: "both, TLS 1.3 only, by its orderly end", change: ticketless(latest(same)),
			want: trust.Observation{Trusts: prints(active, next)},
		},
		{
			name: "not the next one yet", change: func(c *tls.Config) { c.ClientCAs = pool(active) },
			want: trust.Observation{Trusts: prints(active)},
		},
		{
			name: "not the next one yet, TLS 1.3 only", change: latest(func(c *tls.Config) { c.ClientCAs = pool(active) }),
			want: trust.Observation{Trusts: prints(active)},
		},
		{
			name:   "not the next one yet, TLS 1.3 only without tickets",
			change: ticketless(latest(func(c *tls.Config) { c.ClientCAs = pool(active) })),
			want:   trust.Observation{Trusts: prints(active)},
		},
		{name: "it lists another than it trusts", change: silently(active, next), want: trust.Observation{Trusts: prints(active, next)}},
		{
			name: "it lists what it does not trust", change: func(c *tls.Config) {
				silently(active)(c)
				c.ClientCAs = pool(active, next)
			},
			want: trust.Observation{Trusts: prints(active)},
		},
		{name: "neither of both", change: silently(foreign), want: trust.Observation{}},
		{
			name: "it asks, and takes anybody", change: func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert },
			want: trust.Observation{Failure: takesAnyClient},
		},
		{
			name: "it asks, and takes anybody, TLS 1.3 only", change: latest(func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }),
			want: trust.Observation{Failure: takesAnyClient},
		},
		{
			name: "it asks nobody", change: func(c *tls.Config) { c.ClientAuth = tls.NoClientCert },
			want: trust.Observation{Failure: asksNoClient},
		},
		{
			name: "it asks nobody, TLS 1.3 only", change: latest(func(c *tls.Config) { c.ClientAuth = tls.NoClientCert }),
			want: trust.Observation{Failure: asksNoClient},
		},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := serveTLS(t, server(test.change))
			d := domain(s.Addr().String(), leaf.Certificate, active, next)
			d.Signer.Next = next.Certificate
			probe := &d.Parties[0].Members[0].Probes[0]
			probe.Handshake, probe.ClientLeaf, probe.Timeout = true, "web-client", 5*time.Second
			c, records := newCollector(t, &fixed{}, signerSecret(t, active, next), clientSecret(t, client))
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			test.want.Presents = prints(leaf)
			if diff := cmp.Diff(at(s.Addr().String(), test.want), observedOf(t, records)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSilenceProvesNothing: a server that never ends the handshake neither accepts nor refuses.
func TestSilenceProvesNothing(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		active := newAuthority(t, "ca@1")
		leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
		stuck := make(chan struct{})
		var once sync.Once
		t.Cleanup(func() { once.Do(func() { close(stuck) }) })
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert, ClientCAs: pool(active),
			Certificates:     []tls.Certificate{keyPair(t, leaf)},
			VerifyConnection: func(tls.ConnectionState) error { <-stuck; return nil },
		})
		d := domain(s.Addr().String(), leaf.Certificate, active)
		d.Parties[0].Members[0].Probes[0].Handshake = true
		d.Parties[0].Members[0].Probes[0].Timeout = 200 * time.Millisecond
		c, records := newCollector(t, &fixed{}, signerSecret(t, active, nil))
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		once.Do(func() { close(stuck) })
		got := observedOf(t, records)
		if len(got.Trusts) > 0 || got.Failure != "it does not answer in time" {
			t.Errorf("recorded %+v", got)
		}
	})
}

// TestHandshakeShowsNobodyNew: a minted leaf has the names and usages of the configured client leaf and is valid
// for two minutes.
func TestHandshakeShowsNobodyNew(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		active := newAuthority(t, "ca@1")
		leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
		client, err := active.Issue(pki.Profile{
			CommonName: "prober", Organizations: []string{"system:probers"}, DNSNames: []string{"prober.demo"}, IPAddresses: []string{"10.0.0.9"},
			Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Hour,
		}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var seen []*x509.Certificate
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(active), Certificates: []tls.Certificate{keyPair(t, leaf)},
			VerifyConnection: func(state tls.ConnectionState) error {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, state.PeerCertificates[0])
				if state.DidResume {
					return errors.New("a session was resumed")
				}
				return nil
			},
		})
		d := domain(s.Addr().String(), leaf.Certificate, active)
		d.Parties[0].Members[0].Probes[0].Handshake, d.Parties[0].Members[0].Probes[0].ClientLeaf = true, "web-client"
		c, records := newCollector(t, &fixed{}, signerSecret(t, active, nil), clientSecret(t, client))
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := observedOf(t, records); !slices.Equal(got.Trusts, prints(active)) {
			t.Fatalf("recorded %+v", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(seen) != 1+confirmations {
			t.Errorf("%d handshakes were verified, want %d", len(seen), 1+confirmations)
		}
		for _, cert := range seen {
			minted, err := pki.ParseCertificate(cert.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if minted.Subject != client.Certificate.Subject || !slices.Equal(minted.Usages, client.Certificate.Usages) ||
				!slices.Equal(minted.DNSNames, client.Certificate.DNSNames) || !slices.Equal(minted.IPAddresses, client.Certificate.IPAddresses) {
				t.Errorf("it presents %s %v %v %v", minted.Subject, minted.Usages, minted.DNSNames, minted.IPAddresses)
			}
			if left := time.Until(minted.NotAfter); left > mintedFor || minted.Fingerprint == client.Certificate.Fingerprint {
				t.Errorf("it presents a leaf that is valid for %s", left)
			}
		}
	})
}

// TestTwinsAreToldByTheirEnd: CAs with the same key and name accept the same leaves. A handshake therefore proves
// only the CA that ends first.
func TestTwinsAreToldByTheirEnd(t *testing.T) {
	now := time.Now()
	old, err := pki.NewAuthority(pki.Profile{CommonName: "ca@1", Key: pki.ECDSAP256, Validity: time.Hour}, now.Add(-30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := old.Resign(now)
	if err != nil {
		t.Fatal(err)
	}
	other := newAuthority(t, "ca@2")
	d := func(active, next *pki.Pair, anchors ...*pki.Pair) *trust.Domain {
		d := domain("127.0.0.1:1", nil, append([]*pki.Pair{active}, anchors...)...)
		if next != nil {
			d.Signer.Next = next.Certificate
		}
		return d
	}
	root, err := pki.NewAuthority(pki.Profile{CommonName: "root", Key: pki.ECDSAP256, Validity: time.Hour, Subordinates: true}, now)
	if err != nil {
		t.Fatal(err)
	}
	under, err := root.IssueAuthority(pki.Profile{CommonName: "ca@3", Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	below := func(d *trust.Domain) *trust.Domain {
		d.Signer.Issuers = []*pki.Certificate{root.Certificate}
		return d
	}
	for _, test := range []struct {
		name string
		d    *trust.Domain
		ca   *pki.Pair
		now  time.Time
		want *pki.Pair
	}{
		{name: "below a root", d: below(d(root, under)), ca: under, now: now, want: root},
		{name: "below a root, and an anchor itself", d: below(d(under, nil)), ca: under, now: now, want: under},
		{name: "alone", d: d(renewed, nil), ca: renewed, now: now, want: renewed},
		{name: "of another key", d: d(other, renewed), ca: renewed, now: now, want: renewed},
		{name: "the earlier one is in the bundle", d: d(renewed, nil, old), ca: renewed, now: now, want: old},
		{name: "the later one is next", d: d(old, renewed), ca: renewed, now: now, want: old},
		{name: "the earlier one itself", d: d(old, renewed), ca: old, now: now, want: old},
		{name: "the earlier one has expired", d: d(renewed, nil, old), ca: renewed, now: old.Certificate.NotAfter.Add(time.Second), want: renewed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := attested(test.d, test.ca.Certificate, test.now); got != test.want.Certificate.Fingerprint {
				t.Errorf("attested is %s, want %s", got, test.want.Certificate.Fingerprint)
			}
		})
	}
}

// TestUnmintable: if the signer lost its key, the failure names this. What the server presents is still recorded.
func TestUnmintable(t *testing.T) {
	active, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
	probed := func(t *testing.T, issued *trust.Issued, objects ...runtime.Object) (address string, got *trust.Observation) {
		t.Helper()
		address = serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(active, next), Certificates: []tls.Certificate{keyPair(t, leaf)},
		}).Addr().String()
		d := domain(address, leaf.Certificate, active, next)
		d.Signer.Next, d.Signer.Issued = next.Certificate, issued
		d.Parties[0].Members[0].Probes[0].Handshake = true
		c, records := newCollector(t, &fixed{}, objects...)
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		return address, observedOf(t, records)
	}
	inBubble(t, "no key of next", func(t *testing.T) {
		address, got := probed(t, nil, signerSecret(t, active, nil))
		want := at(address, trust.Observation{
			Trusts: prints(active), Presents: prints(leaf),
			Failure: "it cannot be probed with a client leaf of CN=ca@2: Secret/web-signer has no usable key of that CA",
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
	inBubble(t, "an issuer has no key of the CA that it has replaced", func(t *testing.T) {
		in := &trust.Issued{Object: trust.Object{Name: "web-signer"}, Certificate: next.Certificate}
		address, got := probed(t, in, signerSecret(t, next, nil))
		if diff := cmp.Diff(at(address, trust.Observation{Trusts: prints(next), Presents: prints(leaf)}), got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
	inBubble(t, "no signer", func(t *testing.T) {
		if _, got := probed(t, nil); got.Failure == "" || len(got.Trusts) > 0 || !slices.Equal(got.Presents, prints(leaf)) {
			t.Errorf("recorded %+v", got)
		}
	})
}

// TestBareEndIsNoAcceptance: a stream that ends without close_notify after the handshake proves no acceptance.
func TestBareEndIsNoAcceptance(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		active := newAuthority(t, "ca@1")
		leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
		listener := accepting(t, func(conn net.Conn) {
			server := tls.Server(conn, &tls.Config{
				MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, ClientCAs: pool(active), SessionTicketsDisabled: true,
				Certificates: []tls.Certificate{keyPair(t, leaf)},
			})
			_ = server.HandshakeContext(t.Context())
		})
		d := domain(listener.Addr().String(), leaf.Certificate, active)
		d.Parties[0].Members[0].Probes[0].Handshake = true
		c, records := newCollector(t, &fixed{}, signerSecret(t, active, nil))
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := observedOf(t, records); len(got.Trusts) > 0 || !slices.Equal(got.Presents, prints(leaf)) {
			t.Errorf("recorded %+v", got)
		}
	})
}

// accepting serves every connection, and closes it without close_notify.
func accepting(t *testing.T, serve func(conn net.Conn)) net.Listener {
	t.Helper()
	listener := network.Listen()
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); conns.Wait() })
	return listener
}

// TestServerThatKeepsTheConnection: some servers wait for a request, whatever the client sends.
func TestServerThatKeepsTheConnection(t *testing.T) {
	active, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		inBubble(t, name, func(t *testing.T) {
			over := make(chan struct{})
			listener := accepting(t, func(conn net.Conn) {
				server := tls.Server(conn, &tls.Config{
					MinVersion: version, MaxVersion: version, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(active, next),
					Certificates: []tls.Certificate{keyPair(t, leaf)},
				})
				if err := server.HandshakeContext(t.Context()); err == nil {
					<-over
				}
			})
			defer close(over)
			d := domain(listener.Addr().String(), leaf.Certificate, active, next)
			d.Signer.Next = next.Certificate
			d.Parties[0].Members[0].Probes[0].Handshake, d.Parties[0].Members[0].Probes[0].Timeout = true, time.Minute
			c, records := newCollector(t, &fixed{}, signerSecret(t, active, next))
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			want := at(listener.Addr().String(), trust.Observation{Trusts: prints(active, next), Presents: prints(leaf)})
			if diff := cmp.Diff(want, observedOf(t, records)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// mints is a minter of the test.
type mints func() (tls.Certificate, error)

// Mint implements minter.
func (m mints) Mint(context.Context, *trust.Domain, pki.Fingerprint, pki.Profile) (tls.Certificate, error) {
	return m()
}

// TestNobodyToMint: a failed read of the signer proves nothing about the member, so nothing is recorded.
func TestNobodyToMint(t *testing.T) {
	active := newAuthority(t, "ca@1")
	d := domain("127.0.0.1:1", nil, active)
	d.Parties[0].Members[0].Probes[0].Handshake = true
	away := errors.New("the API server is away")
	c, records := newCollector(t, &fixed{})
	c.minter = mints(func() (tls.Certificate, error) { return tls.Certificate{}, away })
	if err := c.Refresh(t.Context(), d); !errors.Is(err, away) {
		t.Errorf("got %v, want %v", err, away)
	}
	if n := writes(records); n > 0 {
		t.Errorf("%d writes", n)
	}
}
