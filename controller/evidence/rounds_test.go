// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
)

// TestLookedOnce: each member is observed once in the stage Stable too. Signing may begin only after the inventory
// has these observations.
func TestLookedOnce(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		ca, other := newAuthority(t, "ca@1"), newAuthority(t, "ca@0")
		leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
		// The process trusts another CA than the domain has, as after a restore.
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(other), Certificates: []tls.Certificate{keyPair(t, leaf)},
		})
		now := timeNow()
		d := domain(s.Addr().String(), leaf.Certificate, ca)
		was := *at(s.Addr().String(), trust.Observation{TrustedSubjects: subjects(ca), Presents: prints(leaf), ObservedAt: now, Expires: now.Add(lease)})
		d.Parties[0].Members[0].Observations = []trust.Observation{was}
		if trust.Assess(d, now).InFlight() {
			t.Fatal("the domain is in flight")
		}
		inv := &fixed{}
		inv.set(d)
		c, records := newCollector(t, inv)
		keep(t, records, "web", "servers", "a", was)
		told := make(chan string, 10)
		c.OnLookedOnce(func(namespace string) { told <- namespace })
		if c.LookedOnce(testNamespace, "web") {
			t.Error("looked once before anything began")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		defer func() { cancel(); <-done }()
		c.NamespaceChanged(testNamespace)
		if got := <-told; got != testNamespace {
			t.Errorf("told of namespace %s", got)
		}
		if c.LookedOnce(testNamespace, "web") {
			t.Error("looked once before the inventory knows what was seen")
		}
		after := domain(s.Addr().String(), leaf.Certificate, ca)
		after.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
		if got := after.Parties[0].Members[0].Observations[0].TrustedSubjects; !slices.Equal(got, subjects(other)) {
			t.Errorf("recorded %v", got)
		}
		inv.set(after)
		if !c.LookedOnce(testNamespace, "web") {
			t.Error("not looked once, although the inventory knows what was seen")
		}
		if c.LookedOnce(testNamespace, "other") {
			t.Error("a domain that does not exist was looked at")
		}
	})
}

func TestRounds(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	two := func() *trust.Domain {
		d := domain("127.0.0.1:1", nil, ca)
		p := &d.Parties[0]
		p.Members = append(p.Members, p.Members[0])
		p.Members[1].Name = "b"
		return d
	}
	for _, test := range []struct {
		name string
		// play runs after the round of a domain with two members has begun.
		play func(t *testing.T, c *Collector, inv *fixed, d *trust.Domain)
		want bool
	}{
		{name: "nothing", play: func(*testing.T, *Collector, *fixed, *trust.Domain) {}},
		{name: "one was looked at", play: func(_ *testing.T, c *Collector, _ *fixed, d *trust.Domain) { c.rounds.looked(observed(d)[0].target) }},
		{name: "both were looked at", want: true, play: func(_ *testing.T, c *Collector, _ *fixed, d *trust.Domain) {
			c.rounds.looked(observed(d)[0].target)
			c.rounds.looked(observed(d)[1].target)
		}},
		{name: "one was looked at, and the other has left", want: true, play: func(t *testing.T, c *Collector, inv *fixed, d *trust.Domain) {
			c.rounds.looked(observed(d)[0].target)
			d.Parties[0].Members = d.Parties[0].Members[:1]
			inv.set(d)
			c.fanOut(t.Context(), testNamespace)
		}},
		{name: "both were looked at, and another has joined", want: true, play: func(t *testing.T, c *Collector, inv *fixed, d *trust.Domain) {
			c.rounds.looked(observed(d)[0].target)
			c.rounds.looked(observed(d)[1].target)
			d.Parties[0].Members = append(d.Parties[0].Members, trust.Member{Name: "c", Probes: []trust.Probe{{Address: "127.0.0.1:2"}}})
			inv.set(d)
			c.fanOut(t.Context(), testNamespace)
		}},
		{name: "what was written of one is not known yet", play: func(_ *testing.T, c *Collector, _ *fixed, d *trust.Domain) {
			c.rounds.wrote(observed(d)[0].target, []trust.Observation{{ObservedAt: time.Now()}})
			c.rounds.looked(observed(d)[0].target)
			c.rounds.looked(observed(d)[1].target)
		}},
		{name: "what was written of one has never become known", want: true, play: func(_ *testing.T, c *Collector, _ *fixed, d *trust.Domain) {
			c.rounds.wrote(observed(d)[0].target, []trust.Observation{{ObservedAt: time.Now().Add(-catchUp)}})
			c.rounds.looked(observed(d)[0].target)
			c.rounds.looked(observed(d)[1].target)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, inv := two(), &fixed{}
			inv.set(d)
			c, _ := newCollector(t, inv)
			c.fanOut(t.Context(), testNamespace)
			if n := c.queue.Len(); n != 2 {
				t.Errorf("%d members are to be looked at, want both, whatever the stage", n)
			}
			test.play(t, c, inv, d)
			if got := c.LookedOnce(testNamespace, "web"); got != test.want {
				t.Errorf("looked once: %t, want %t", got, test.want)
			}
		})
	}
}

// TestDomainWithNobodyToLookAt: a domain without observed members has nothing to wait for.
func TestDomainWithNobodyToLookAt(t *testing.T) {
	d := domain("127.0.0.1:1", nil, newAuthority(t, "ca@1"))
	d.Parties[0].Kind, d.Parties[0].Members[0].Probes = trust.Acknowledgement, nil
	inv := &fixed{}
	inv.set(d)
	c, _ := newCollector(t, inv)
	c.fanOut(t.Context(), testNamespace)
	if !c.LookedOnce(testNamespace, "web") {
		t.Error("it is waited for")
	}
}

// TestSilentMemberHoldsNothingUp: a failed attempt counts as an observation.
func TestSilentMemberHoldsNothingUp(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		ca := newAuthority(t, "ca@1")
		leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
		d := domain(silent(t), leaf.Certificate, ca)
		d.Parties[0].Members[0].Probes[0].Timeout = 50 * time.Millisecond
		inv := &fixed{}
		inv.set(d)
		c, records := newCollector(t, inv)
		c.fanOut(t.Context(), testNamespace)
		if _, err := c.visit(t.Context(), observed(d)[0].target); err != nil {
			t.Fatal(err)
		}
		d.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
		if !c.LookedOnce(testNamespace, "web") {
			t.Error("it is waited for who does not answer")
		}
	})
}
