// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
)

// names is a resolver of the test.
type names map[string][]string

// LookupNetIP implements resolver.
func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, address := range list {
		out = append(out, netip.MustParseAddr(address))
	}
	return out, nil
}

func TestResolve(t *testing.T) {
	many := make([]string, maxEndpoints+1)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
	}
	resolver := names{
		"web": {"10.0.0.2", "10.0.0.1", "10.0.0.1"}, "both": {"10.0.0.1", "2001:db8::1"}, "mapped": {"::ffff:10.0.0.1"}, "empty": {}, "many": many,
	}
	for _, test := range []struct {
		address, failure string
		want             []string
	}{
		{address: "web:443", want: []string{"10.0.0.1:443", "10.0.0.2:443"}},
		{address: "both:443", want: []string{"10.0.0.1:443", "[2001:db8::1]:443"}},
		{address: "mapped:443", want: []string{"10.0.0.1:443"}},
		{address: "10.0.0.9:443", want: []string{"10.0.0.9:443"}},
		{address: "[2001:db8::9]:443", want: []string{"[2001:db8::9]:443"}},
		{address: "", failure: "its address is not known"},
		{address: "web", failure: "is no host:port"},
		{address: "empty:443", failure: "its host name empty leads to no address"},
		{address: "nobody:443", failure: "its host name nobody is not known"},
		{address: "many:443", failure: "leads to more than 64 addresses"},
	} {
		t.Run(test.address, func(t *testing.T) {
			c, _ := newCollector(t, &fixed{})
			c.resolver = resolver
			got, failure := c.resolve(t.Context(), &trust.Probe{Address: test.address})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
			if !strings.Contains(failure, test.failure) || (failure == "") != (test.failure == "") {
				t.Errorf("failure %q, want %q", failure, test.failure)
			}
		})
	}
}

func TestInstanceFitsARecord(t *testing.T) {
	host := strings.Repeat("a", 240) + ".svc:443"
	for _, name := range []string{instanceOf(host, "10.0.0.1:443"), instanceOf("", ""), instanceOf("web:443", "[2001:db8::1]:443")} {
		if name == "" || len(name) > maxInstanceBytes {
			t.Errorf("the name %q has %d bytes", name, len(name))
		}
	}
	if instanceOf(host, "10.0.0.1:443") == instanceOf(host, "10.0.0.2:443") {
		t.Error("two processes have one name")
	}
}

// TestEveryAddressIsProbed: a name with two addresses yields two observations. An address that it no longer
// resolves to is dropped.
func TestEveryAddressIsProbed(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		serving := func(accepts ...*pki.Pair) *server {
			return serveTLS(t, &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(accepts...), Certificates: []tls.Certificate{keyPair(t, leaf)},
			})
		}
		reached := map[string]string{"10.0.0.1:443": serving(before, after).Addr().String(), "10.0.0.2:443": serving(before).Addr().String()}
		const name, peer = "web.demo.svc:443", "web-peer.demo.svc:443"
		d := domain(name, leaf.Certificate, before, after)
		probes := &d.Parties[0].Members[0].Probes
		*probes = append(*probes, trust.Probe{Address: peer, ServerName: serverDNS, Timeout: time.Second})
		c, records := newCollector(t, &fixed{})
		resolver := names{"web.demo.svc": {"10.0.0.1", "10.0.0.2"}, "web-peer.demo.svc": {"10.0.0.1"}}
		c.resolver = resolver
		c.dial = func(ctx context.Context, kind, address string) (net.Conn, error) {
			return network.DialContext(ctx, kind, reached[address])
		}
		process := func(address, endpoint string, accepts ...*pki.Pair) trust.Observation {
			return trust.Observation{
				Instance: address + "@" + endpoint, Kind: trust.TLSProbe, Address: address, TrustedSubjects: subjects(accepts...), Presents: prints(leaf),
			}
		}
		nowhere := trust.Observation{
			Instance: peer, Kind: trust.TLSProbe, Address: peer, Presents: prints(leaf), Failure: "its host name web-peer.demo.svc is not known",
		}
		for _, step := range []struct {
			name   string
			change func()
			want   []trust.Observation
		}{
			{name: "two names", change: func() {}, want: []trust.Observation{
				process(peer, "10.0.0.1:443", before, after), process(name, "10.0.0.1:443", before, after), process(name, "10.0.0.2:443", before),
			}},
			{name: "one process is gone", change: func() { resolver["web.demo.svc"] = []string{"10.0.0.1"} }, want: []trust.Observation{
				process(peer, "10.0.0.1:443", before, after), process(name, "10.0.0.1:443", before, after),
			}},
			{name: "one name is gone", change: func() { delete(resolver, "web-peer.demo.svc") }, want: []trust.Observation{
				nowhere, process(name, "10.0.0.1:443", before, after),
			}},
		} {
			step.change()
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(step.want, processesOf(t, records)); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", step.name, diff)
			}
			d.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
		}
	})
}

// TestMoreProcessesThanARecordHolds: too many processes are a failure of the member, not only a logged error.
func TestMoreProcessesThanARecordHolds(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	d := domain("0.svc:1", nil, ca)
	resolver := names{}
	var probes []trust.Probe
	for i := range maxProcesses/maxEndpoints + 1 {
		host := fmt.Sprintf("%d.svc", i)
		for j := range maxEndpoints {
			resolver[host] = append(resolver[host], fmt.Sprintf("10.0.%d.%d", i, j))
		}
		probes = append(probes, trust.Probe{Address: host + ":1"})
	}
	d.Parties[0].Members[0].Probes = probes
	c, records := newCollector(t, &fixed{})
	c.resolver = resolver
	c.dial = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	if err := c.Refresh(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	got := processesOf(t, records)
	if len(got) != len(probes) {
		t.Fatalf("%d observations, want one of each address", len(got))
	}
	for _, o := range got {
		if !strings.HasPrefix(o.Failure, "its addresses lead to 320 processes") {
			t.Errorf("%s: %s", o.Address, o.Failure)
		}
	}
}
