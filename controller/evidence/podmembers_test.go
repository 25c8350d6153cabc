// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/utils/clock"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/pipenet"
)

// podNetwork maps the addresses of pods to local servers.
type podNetwork struct {
	mu      sync.Mutex
	servers map[string]string
	dialled []string
}

// lead maps an address to a server. nil means that none answers.
func (n *podNetwork) lead(address string, s *server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if delete(n.servers, address); s != nil {
		n.servers[address] = s.Addr().String()
	}
}

func (n *podNetwork) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, address)
	server := n.servers[address]
	n.mu.Unlock()
	if server == "" {
		return nil, syscall.ECONNREFUSED
	}
	return network.DialContext(ctx, kind, server)
}

// podDomain returns domain with pods as members. The next CA is being published.
func podDomain(leaf *pki.Certificate, active, next *pki.Pair, names ...string) *trust.Domain {
	d := domain("", leaf, active, next)
	d.Signer.Next = next.Certificate
	probe := d.Parties[0].Members[0].Probes[0]
	d.Parties[0].OfPods, d.Parties[0].Members = true, nil
	for i, name := range names {
		probe.Address = fmt.Sprintf("10.0.0.%d:8443", i+1)
		d.Parties[0].Members = append(d.Parties[0].Members, trust.Member{
			Name: name, Instance: "uid-" + name, Pod: &trust.Pod{Started: true, Process: "uid-" + name + "/1"},
			Holds: []string{"web-server"}, Probes: []trust.Probe{probe}, RestartedAt: time.Now().Add(-time.Hour),
		})
	}
	return d
}

// recall gives the members their recorded observations, as the inventory does.
func recall(t *testing.T, d *trust.Domain, records *apifake.Server) {
	t.Helper()
	for i := range d.Parties[0].Members {
		m := &d.Parties[0].Members[i]
		m.Observations = recordOf(t, records, d.Name, d.Parties[0].Name, m.Name)
	}
}

// refreshed refreshes the evidence and gives the members what is recorded.
func refreshed(t *testing.T, c *Collector, d *trust.Domain, records *apifake.Server) {
	t.Helper()
	if err := c.Refresh(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	recall(t, d, records)
}

// untrusting returns the members that are not proven to trust the next CA.
func untrusting(d *trust.Domain) []string {
	var out []string
	for _, m := range trust.Assess(d, time.Now()).Members {
		if !m.Trusted {
			out = append(out, m.Member)
		}
	}
	return out
}

// fleet is two servers and a collector that reaches them as pods. One server has not loaded the next CA.
type fleet struct {
	active, next      *pki.Pair
	leaf              *pki.Pair
	reloaded, lagging *server
	network           *podNetwork
	collector         *Collector
	records           *apifake.Server
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{active: newAuthority(t, "ca@1"), next: newAuthority(t, "ca@2"), network: &podNetwork{servers: map[string]string{}}}
	f.leaf = newLeaf(t, f.active, serverDNS, pki.ServerAuth)
	with := func(accepts ...*pki.Pair) *server {
		return serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(accepts...), Certificates: []tls.Certificate{keyPair(t, f.leaf)},
		})
	}
	f.reloaded, f.lagging = with(f.active, f.next), with(f.active)
	f.records = apifake.New(t, clock.RealClock{})
	f.collector = collectorWith(t, f.records, &Config{Inventory: &fixed{}, Dial: f.network.dial})
	return f
}

// TestTheReplicaThatLagsIsNamed: each pod is observed at its own address, so no pod counts for another.
func TestTheReplicaThatLagsIsNamed(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		f := newFleet(t)
		d := podDomain(f.leaf.Certificate, f.active, f.next, "web-a", "web-b", "web-c")
		f.network.lead("10.0.0.1:8443", f.reloaded)
		f.network.lead("10.0.0.2:8443", f.lagging)
		f.network.lead("10.0.0.3:8443", f.reloaded)
		refreshed(t, f.collector, d, f.records)
		if diff := cmp.Diff([]string{"web-b"}, untrusting(d)); diff != "" {
			t.Errorf("who is not proven to trust the next CA (-want +got):\n%s", diff)
		}
		f.network.lead("10.0.0.2:8443", f.reloaded)
		refreshed(t, f.collector, d, f.records)
		if left := untrusting(d); len(left) > 0 {
			t.Errorf("%v are not proven to trust the next CA, and have loaded it", left)
		}
	})
}

// TestWhatIsSeenOfAPod observes a pod that has loaded the next CA, if it answers.
func TestWhatIsSeenOfAPod(t *testing.T) {
	const process = "uid-web-a/1"
	for _, test := range []struct {
		name   string
		change func(m *trust.Member)
		silent bool
		// unseen is true if nothing is dialled and nothing recorded. undialled is true if only the failure is
		// recorded.
		unseen, undialled bool
		failure           string
	}{
		{name: "it runs", change: func(*trust.Member) {}},
		{name: "it terminates, and still answers", change: func(m *trust.Member) { m.Pod.Terminating = true }},
		{name: "it terminates, and does not answer", silent: true, change: func(m *trust.Member) { m.Pod.Terminating = true }, failure: dial.Unproven},
		{name: "it crashes now and then, and runs", change: func(m *trust.Member) { m.Pod.Trouble = "its container web is in CrashLoopBackOff" }},
		{name: "it is pending", unseen: true, change: func(m *trust.Member) { *m.Pod = trust.Pod{} }},
		{name: "it runs nothing at the moment", unseen: true, change: func(m *trust.Member) { m.Pod.Process = "" }},
		{
			name: "it has no IP", undialled: true, failure: "it has no IP address",
			change: func(m *trust.Member) { m.Probes[0].Address, m.Probes[0].Unknown = "", "it has no IP address" },
		},
		{
			name: "it has no such port", undialled: true, failure: "none of its containers has a port named https",
			change: func(m *trust.Member) {
				m.Probes[0].Address, m.Probes[0].Unknown = "", "none of its containers has a port named https"
			},
		},
		{
			name: "it uses the network of its node", undialled: true, failure: "it uses the network of its node",
			change: func(m *trust.Member) {
				m.Probes[0].Address, m.Probes[0].Unknown = "", "it uses the network of its node"
			},
		},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			f := newFleet(t)
			d := podDomain(f.leaf.Certificate, f.active, f.next, "web-a")
			m := &d.Parties[0].Members[0]
			if test.change(m); !test.silent {
				f.network.lead("10.0.0.1:8443", f.reloaded)
			}
			refreshed(t, f.collector, d, f.records)
			if dialled := len(f.network.dialled) > 0; dialled == (test.unseen || test.undialled) {
				t.Errorf("dialled %v", f.network.dialled)
			}
			if test.unseen {
				if len(m.Observations) > 0 {
					t.Errorf("recorded %v of nobody", m.Observations)
				}
				return
			}
			if len(m.Observations) != 1 {
				t.Fatalf("recorded %v, want one process", m.Observations)
			}
			o := m.Observations[0]
			if o.Instance != process || o.Address != m.Probes[0].Address || o.Failure != test.failure {
				t.Errorf("recorded process %q at %q with failure %q, want %q with %q", o.Instance, o.Address, o.Failure, process, test.failure)
			}
			if trusted := len(untrusting(d)) == 0; trusted != (test.failure == "") {
				t.Errorf("it is proven to trust the next CA: %t", trusted)
			}
		})
	}
}

// TestAPodIsKnownByWhatItRuns observes a pod that trusts the next CA, changes something, and observes it again.
func TestAPodIsKnownByWhatItRuns(t *testing.T) {
	restarted := func(m *trust.Member) { m.Pod = &trust.Pod{Started: true, Process: "uid-web-a/2"} }
	for _, test := range []struct {
		name   string
		change func(f *fleet, m *trust.Member)
		// before and after tell whether the evidence holds before and after the second observation.
		before, after bool
		// presents is true if the second observation has the leaf.
		presents bool
	}{
		{name: "nothing", change: func(*fleet, *trust.Member) {}, before: true, after: true, presents: true},
		{
			name:   "it does not answer any more, and may still present what it did",
			change: func(f *fleet, _ *trust.Member) { f.network.lead("10.0.0.1:8443", nil) }, before: true, presents: true,
		},
		{
			name:   "it was restarted and loaded the same",
			change: func(_ *fleet, m *trust.Member) { restarted(m) }, after: true, presents: true,
		},
		{
			name:   "it was restarted and loaded less",
			change: func(f *fleet, m *trust.Member) { restarted(m); f.network.lead("10.0.0.1:8443", f.lagging) }, presents: true,
		},
		{
			name:   "it was restarted and does not answer: of what ran before nothing is kept",
			change: func(f *fleet, m *trust.Member) { restarted(m); f.network.lead("10.0.0.1:8443", nil) },
		},
		{
			name:   "the clock of its node is ahead",
			change: func(_ *fleet, m *trust.Member) { m.RestartedAt = time.Now().Add(time.Hour) }, before: true, after: true, presents: true,
		},
		{
			name: "another pod has its name and its address",
			change: func(_ *fleet, m *trust.Member) {
				m.Instance, m.Pod = "uid-new", &trust.Pod{Started: true, Process: "uid-new/1"}
			},
			after: true, presents: true,
		},
		{
			name: "its address has changed, and another pod answers at the former one",
			change: func(f *fleet, m *trust.Member) {
				m.Probes[0].Address = "10.0.0.9:8443"
				f.network.lead("10.0.0.9:8443", f.lagging)
			},
			presents: true,
		},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			f := newFleet(t)
			f.network.lead("10.0.0.1:8443", f.reloaded)
			d := podDomain(f.leaf.Certificate, f.active, f.next, "web-a")
			refreshed(t, f.collector, d, f.records)
			m := &d.Parties[0].Members[0]
			test.change(f, m)
			if trusted := len(untrusting(d)) == 0; trusted != test.before {
				t.Errorf("before it was looked at again it is proven to trust the next CA: %t", trusted)
			}
			refreshed(t, f.collector, d, f.records)
			if trusted := len(untrusting(d)) == 0; trusted != test.after {
				t.Errorf("it is proven to trust the next CA: %t", trusted)
			}
			if len(m.Observations) != 1 || m.Observations[0].Instance != m.Pod.Process {
				t.Fatalf("recorded %v, want one of %s", m.Observations, m.Pod.Process)
			}
			if presents := slices.Contains(m.Observations[0].Presents, f.leaf.Certificate.Fingerprint); presents != test.presents {
				t.Errorf("it is recorded to present the leaf: %t", presents)
			}
			written := writes(f.records)
			if refreshed(t, f.collector, d, f.records); writes(f.records) != written {
				t.Error("written again, and nothing has changed")
			}
		})
	}
}

// TestWhoAnswersAtTheAddressOfAPodThatIsGone: another pod that got the address is taken for the former pod while
// that one seems to exist. This evidence counts only for the former process.
func TestWhoAnswersAtTheAddressOfAPodThatIsGone(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		f := newFleet(t)
		d := podDomain(f.leaf.Certificate, f.active, f.next, "web-a", "web-b")
		// web-b has the former address of web-a, which is not known yet.
		d.Parties[0].Members[1].Probes[0].Address = "10.0.0.2:8443"
		f.network.lead("10.0.0.1:8443", f.reloaded)
		f.network.lead("10.0.0.2:8443", f.lagging)
		refreshed(t, f.collector, d, f.records)
		if diff := cmp.Diff([]string{"web-b"}, untrusting(d)); diff != "" {
			t.Fatalf("who is not proven to trust the next CA (-want +got):\n%s", diff)
		}
		// A new pod gets the name before it is observed.
		d.Parties[0].Members[0].Instance, d.Parties[0].Members[0].Pod = "uid-new", &trust.Pod{Started: true, Process: "uid-new/1"}
		if diff := cmp.Diff([]string{"web-a", "web-b"}, untrusting(d)); diff != "" {
			t.Errorf("who is not proven to trust the next CA (-want +got):\n%s", diff)
		}
	})
}
