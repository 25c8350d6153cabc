// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/tls"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
	"certrotation.dev/test/property"
)

// TestSeveralProcessesBehindOneAddress: two replicas answer at one address, and only one was reloaded. Whichever
// answers first, the member has not followed.
func TestSeveralProcessesBehindOneAddress(t *testing.T) {
	before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf, renewed := newLeaf(t, before, serverDNS, pki.ServerAuth), newLeaf(t, before, serverDNS, pki.ServerAuth)
	serving := func(present *pki.Pair, accepts ...*pki.Pair) *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(accepts...),
			Certificates: []tls.Certificate{keyPair(t, present)},
		}
	}
	alternately := func(processes ...*tls.Config) func() *tls.Config {
		next := 0
		return func() *tls.Config { next++; return processes[next%len(processes)] }
	}
	random := property.Random(t)
	atRandom := func(processes ...*tls.Config) func() *tls.Config {
		return func() *tls.Config { return processes[random.IntN(len(processes))] }
	}
	for _, test := range []struct {
		name   string
		choose func() *tls.Config
		// handshake selects the proof Handshake.
		handshake bool
	}{
		{name: "one has reloaded its trust", choose: alternately(serving(leaf, before), serving(leaf, before, after))},
		{name: "one has reloaded its trust, and chance decides", choose: atRandom(serving(leaf, before), serving(leaf, before, after))},
		{name: "one has reloaded its leaf", choose: alternately(serving(leaf, before, after), serving(renewed, before, after))},
		{name: "one has reloaded both, and chance decides", choose: atRandom(serving(leaf, before), serving(renewed, before, after))},
		{
			name: "one of many has not", choose: alternately(serving(leaf, before, after), serving(leaf, before, after),
				serving(leaf, before, after), serving(leaf, before, after), serving(leaf, before)),
		},
		{name: "by a handshake", handshake: true, choose: atRandom(serving(leaf, before), serving(leaf, before, after))},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := serveEach(t, test.choose)
			d := domain(s.Addr().String(), leaf.Certificate, before, after)
			d.Signer.Next = after.Certificate
			d.Parties[0].Members[0].Probes[0].Handshake = test.handshake
			c, records := newCollector(t, &fixed{}, signerSecret(t, before, after))
			for look := range 12 {
				if err := c.Refresh(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				got := observedOf(t, records)
				trusted := slices.Contains(got.Trusts, after.Certificate.Fingerprint) || slices.Contains(got.TrustedSubjects, after.Certificate.SubjectHash)
				delivered := got.Failure == "" && !slices.Equal(got.Presents, prints(leaf))
				if got.Failure == "" && (trusted || delivered) {
					t.Fatalf("look %d shows what only one process has: %+v", look, got)
				}
				if got.Failure != "" && !strings.HasPrefix(got.Failure, "several processes answer at "+s.Addr().String()) {
					t.Fatalf("look %d: failure %q", look, got.Failure)
				}
				d.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
			}
		})
	}
}

// TestOneLookIsNotBelieved: without the confirming probes, the reloaded one of two processes counts for both.
func TestOneLookIsNotBelieved(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		first := true
		s := serveEach(t, func() *tls.Config {
			config := &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(before), Certificates: []tls.Certificate{keyPair(t, leaf)},
			}
			if first {
				config.ClientCAs = pool(before, after)
			}
			first = !first
			return config
		})
		d := domain(s.Addr().String(), leaf.Certificate, before, after)
		c, _ := newCollector(t, &fixed{})
		subject := observed(d)[0]
		place := &place{probe: &subject.member.Probes[0], endpoint: s.Addr().String(), anchors: d.Bundle.Anchors, domain: domainMatcherOf(subject), patience: &patience{left: time.Second}}
		one := c.look(t.Context(), place, &identity{}, subject.relying, false)
		if !slices.Contains(one.subjects, after.Certificate.SubjectHash) {
			t.Fatalf("the first look shows %v, want that the process it met has reloaded", one)
		}
		all := c.confirm(t.Context(), place, &identity{}, subject.relying, one)
		if slices.Contains(all.subjects, after.Certificate.SubjectHash) || all.failure == "" {
			t.Errorf("all looks show %+v", all)
		}
	})
}

// TestNegativeLookCountsAtOnce: what a process no longer accepts needs no confirming probe.
func TestNegativeLookCountsAtOnce(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(before), Certificates: []tls.Certificate{keyPair(t, leaf)},
		})
		address := s.Addr().String()
		d := domain(address, leaf.Certificate, before, after)
		now := timeNow()
		was := *at(address, trust.Observation{
			TrustedSubjects: subjects(before, after), Presents: prints(leaf), ObservedAt: now, Expires: now.Add(lease),
		})
		d.Parties[0].Members[0].Observations = []trust.Observation{was}
		c, records := newCollector(t, &fixed{})
		keep(t, records, "web", "servers", "a", was)
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := observedOf(t, records); !slices.Equal(got.TrustedSubjects, subjects(before)) || got.Failure != "" {
			t.Errorf("recorded %+v", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.conns.Wait()
		if n := len(s.results); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// TestDifferingIsNotForgottenAtOnce: probes rarely meet the one lagging process of many. A number of probes
// without it does not prove that it is gone.
func TestDifferingIsNotForgottenAtOnce(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		serving := func(accepts ...*pki.Pair) *tls.Config {
			return &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(accepts...), Certificates: []tls.Certificate{keyPair(t, leaf)},
			}
		}
		var lags atomic.Bool
		var count atomic.Int64
		s := serveEach(t, func() *tls.Config {
			if count.Add(1)%5 == 0 && lags.Load() {
				return serving(before)
			}
			return serving(before, after)
		})
		address := s.Addr().String()
		d := domain(address, leaf.Certificate, before, after)
		d.Signer.Next = after.Certificate
		c, records := newCollector(t, &fixed{})
		start := timeNow()
		for _, step := range []struct {
			at      time.Duration
			lags    bool
			failure string
			expires time.Duration
		}{
			{at: 0, lags: true, failure: differing(address), expires: leastQuiet},
			{at: 5 * time.Second, failure: differing(address), expires: leastQuiet},
			{at: leastQuiet / 2, lags: true, failure: differing(address), expires: leastQuiet / 2 * 3},
			{at: leastQuiet, failure: differing(address), expires: leastQuiet / 2 * 3},
			{at: leastQuiet / 2 * 3, expires: leastQuiet/2*3 + lease},
		} {
			lags.Store(step.lags)
			c.clock = testingclock.NewFakeClock(start.Add(step.at))
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			seen := recordOf(t, records, "web", "servers", "a")
			if seen[0].Failure != step.failure || !seen[0].Expires.Equal(start.Add(step.expires)) {
				t.Errorf("after %s: failure %q until %s, want %q until %s", step.at, seen[0].Failure, seen[0].Expires.Sub(start), step.failure, step.expires)
			}
			d.Parties[0].Members[0].Observations = seen
		}
	})
}
