// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/tls"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
)

// TestLease follows the lease of an observation. It is renewed in flight and on demand. In the stage Stable it is
// renewed only for a member that does not follow.
func TestLease(t *testing.T) {
	active, next, foreign := newAuthority(t, "ca@1"), newAuthority(t, "ca@2"), newAuthority(t, "ca@0")
	leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
	stable := func(address string) *trust.Domain { return domain(address, leaf.Certificate, active) }
	inFlight := func(address string) *trust.Domain {
		d := domain(address, leaf.Certificate, active, next)
		d.Signer.Next = next.Certificate
		return d
	}
	for _, test := range []struct {
		name    string
		domain  func(address string) *trust.Domain
		accepts *pki.Pair
		age     time.Duration
		// first is true for the first visit of the member.
		first, refresh bool
		restarted      bool
		want           bool
	}{
		{name: "in flight, at first", domain: inFlight, accepts: active, age: time.Minute},
		{name: "in flight, half of it is over", domain: inFlight, accepts: active, age: lease / 2, want: true},
		{name: "in flight, it is over", domain: inFlight, accepts: active, age: 2 * lease, want: true},
		{name: "in flight, the member was restarted", domain: inFlight, accepts: active, age: time.Minute, restarted: true, want: true},
		{name: "stable, of who follows", domain: stable, accepts: active, age: 2 * lease},
		{name: "stable, of who does not follow", domain: stable, accepts: foreign, age: lease / 2, want: true},
		{name: "stable, at the first look", domain: stable, accepts: active, age: 2 * lease, first: true, want: true},
		{name: "stable, at the first look, not over by half", domain: stable, accepts: active, age: time.Minute, first: true},
		{name: "stable, on demand", domain: stable, accepts: active, age: lease / 2, refresh: true, want: true},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := serveTLS(t, &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(test.accepts), Certificates: []tls.Certificate{keyPair(t, leaf)},
			})
			address := s.Addr().String()
			now := timeNow()
			inv := &fixed{}
			c, records := newCollector(t, inv)
			c.clock = testingclock.NewFakeClock(now)
			d := test.domain(address)
			was := *at(address, trust.Observation{
				TrustedSubjects: subjects(test.accepts), Presents: prints(leaf), ObservedAt: now.Add(-test.age), Expires: now.Add(lease - test.age),
			})
			m := &d.Parties[0].Members[0]
			m.Observations = []trust.Observation{was}
			if test.restarted {
				m.RestartedAt = now.Add(-time.Second)
			}
			inv.set(d)
			keep(t, records, "web", "servers", "a", was)
			c.rounds.begin(d, observed(d))
			if !test.first {
				c.rounds.looked(observed(d)[0].target)
			}
			if test.refresh {
				if err := c.Refresh(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			} else if _, err := c.visit(t.Context(), observed(d)[0].target); err != nil {
				t.Fatal(err)
			}
			got := recordOf(t, records, "web", "servers", "a")[0]
			if renewed := got.ObservedAt.Equal(now) && got.Expires.Equal(now.Add(lease)); renewed != test.want || (writes(records) > 0) != test.want {
				t.Errorf("observed at %s until %s with %d writes; renewed: %t, want %t", got.ObservedAt, got.Expires, writes(records), renewed, test.want)
			}
		})
	}
}

// TestRecordOfSomebodyElse: a new observation is compared with the stored record, not with the cached one.
func TestRecordOfSomebodyElse(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		looks := 0
		s := serveEach(t, func() *tls.Config {
			looks++
			config := &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(before, after), Certificates: []tls.Certificate{keyPair(t, leaf)},
			}
			if looks > 2 {
				// The lagging process answers later.
				config.ClientCAs = pool(before)
			}
			return config
		})
		address := s.Addr().String()
		now := timeNow()
		seen := func(accepts ...*pki.Pair) trust.Observation {
			return *at(address, trust.Observation{
				TrustedSubjects: subjects(accepts...), Presents: prints(leaf), ObservedAt: now.Add(-lease / 2), Expires: now.Add(lease / 2),
			})
		}
		d := domain(address, leaf.Certificate, before, after)
		d.Parties[0].Members[0].Observations = []trust.Observation{seen(before, after)}
		c, records := newCollector(t, &fixed{})
		keep(t, records, "web", "servers", "a", seen(before))
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := observedOf(t, records); got.Failure == "" {
			t.Errorf("recorded %+v on the word of one process", got)
		}
	})
}
