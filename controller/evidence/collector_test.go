// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/pipenet"
)

// recordOf returns the recorded observations of a member, nil without a record.
func recordOf(t *testing.T, records *apifake.Server, domain, party, member string) []trust.Observation {
	t.Helper()
	live, err := records.Own.ConfigV1alpha1().RotationRecords(testNamespace).Get(t.Context(), record.EvidenceName(domain, party, member), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Decode(live)
	if err != nil {
		t.Fatal(err)
	}
	if r.Domain != domain || r.Evidence.Party != party || r.Evidence.Member != member {
		t.Fatalf("the record is of member %s of party %s of domain %s", r.Evidence.Member, r.Evidence.Party, r.Domain)
	}
	return r.Evidence.Observations
}

// processesOf returns the recorded observations of the member of domain, without their times.
func processesOf(t *testing.T, records *apifake.Server) []trust.Observation {
	t.Helper()
	out := recordOf(t, records, "web", "servers", "a")
	for i := range out {
		out[i].ObservedAt, out[i].Expires = time.Time{}, time.Time{}
	}
	return out
}

// observedOf is processesOf for a member with one process. It is nil without an observation.
func observedOf(t *testing.T, records *apifake.Server) *trust.Observation {
	t.Helper()
	switch list := processesOf(t, records); len(list) {
	case 0:
		return nil
	case 1:
		return &list[0]
	default:
		t.Fatalf("%d processes, want 1", len(list))
		return nil
	}
}

// at completes an observation of the process at an IP address.
func at(address string, o trust.Observation) *trust.Observation {
	o.Instance, o.Kind, o.Address = address+"@"+address, trust.TLSProbe, address
	return &o
}

func subjects(cas ...*pki.Pair) []string {
	var out []string
	for _, ca := range cas {
		out = append(out, ca.Certificate.SubjectHash)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func writes(api *apifake.Server) int {
	n := 0
	for _, action := range api.Actions() {
		if action.GetResource().Resource != "rotationrecords" {
			continue
		}
		if action.GetVerb() == "create" || action.GetVerb() == "update" {
			n++
		}
	}
	return n
}

func TestRefresh(t *testing.T) {
	before, after, twin, foreign := newAuthority(t, "ca@1"), newAuthority(t, "ca@2"), newAuthority(t, "ca@2"), newAuthority(t, "foreign")
	leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
	issueUntrusted := newLeaf(t, foreign, serverDNS, pki.ServerAuth)
	misnamed := newLeaf(t, before, "other.svc", pki.ServerAuth)
	client := newLeaf(t, before, "client", pki.ClientAuth)
	mutual := func(present *pki.Pair, version uint16, accepts ...*pki.Pair) *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS12, MaxVersion: version, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: pool(accepts...), Certificates: []tls.Certificate{keyPair(t, present)},
		}
	}
	presents := func(p *pki.Pair) []pki.Fingerprint { return []pki.Fingerprint{p.Certificate.Fingerprint} }
	for _, test := range []struct {
		name string
		// config of the server. Without it, the probe dials address.
		config  *tls.Config
		address string
		// peer starts a server and returns its address.
		peer func(t *testing.T) string
		// anonymous probes have no client leaf. served is true if the server sees a successful handshake.
		anonymous, served, unresolved, verifiesNothing bool
		want                                           trust.Observation
	}{
		{
			name: "one CA", config: mutual(leaf, tls.VersionTLS13, before), served: true,
			want: trust.Observation{TrustedSubjects: subjects(before), Presents: presents(leaf)},
		},
		{
			name: "both CAs", config: mutual(leaf, tls.VersionTLS13, before, after), served: true,
			want: trust.Observation{TrustedSubjects: subjects(before, after), Presents: presents(leaf)},
		},
		{
			name: "both CAs, TLS 1.2", config: mutual(leaf, tls.VersionTLS12, before, after), served: true,
			want: trust.Observation{TrustedSubjects: subjects(before, after), Presents: presents(leaf)},
		},
		{
			name: "two CAs of one subject are one subject", config: mutual(leaf, tls.VersionTLS13, before, after, twin), served: true,
			want: trust.Observation{TrustedSubjects: subjects(before, after), Presents: presents(leaf)},
		},
		{
			name: "no client leaf, TLS 1.3", config: mutual(leaf, tls.VersionTLS13, before), anonymous: true,
			want: trust.Observation{TrustedSubjects: subjects(before), Presents: presents(leaf)},
		},
		{
			name: "no client leaf, TLS 1.2", config: mutual(leaf, tls.VersionTLS12, before), anonymous: true,
			want: trust.Observation{TrustedSubjects: subjects(before), Presents: presents(leaf)},
		},
		{
			name: "the client leaf is refused", config: mutual(leaf, tls.VersionTLS12, foreign),
			want: trust.Observation{TrustedSubjects: subjects(foreign), Presents: presents(leaf)},
		},
		{
			name:   "no client authentication",
			config: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{keyPair(t, leaf)}}, served: true,
			want: trust.Observation{Presents: presents(leaf), Failure: asksNoClient},
		},
		{
			name: "no client authentication, of who has nobody to verify", verifiesNothing: true,
			config: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{keyPair(t, leaf)}}, served: true,
			want: trust.Observation{Presents: presents(leaf)},
		},
		{
			name: "it lists no authorities", served: true, config: &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{keyPair(t, leaf)},
			},
			want: trust.Observation{Presents: presents(leaf), Failure: listsNothing},
		},
		{
			name: "it lists no authorities, and has nobody to verify", served: true, verifiesNothing: true, config: &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{keyPair(t, leaf)},
			},
			want: trust.Observation{Presents: presents(leaf)},
		},
		{
			name: "a leaf of a foreign CA", config: mutual(issueUntrusted, tls.VersionTLS13, before), served: true,
			want: trust.Observation{Failure: dial.Unproven},
		},
		{
			name: "a leaf of another name", config: mutual(misnamed, tls.VersionTLS13, before), served: true,
			want: trust.Observation{
				TrustedSubjects: subjects(before), Presents: presents(misnamed),
				Failure: "it presents a certificate that is not for the name web.demo.svc",
			},
		},
		{
			name: "nobody listens", address: network.ClosedPort(),
			want: trust.Observation{Failure: dial.Unproven},
		},
		{
			name: "it never answers", peer: silent,
			want: trust.Observation{Failure: dial.Unproven},
		},
		{
			name: "it speaks something else", peer: speaking("SSH-2.0-OpenSSH_9.6\r\n"),
			want: trust.Observation{Failure: dial.Unproven},
		},
		{
			name: "it hangs up", peer: speaking(""),
			want: trust.Observation{Failure: dial.Unproven},
		},
		{
			name: "an address that is not dialled", address: "169.254.169.254:80",
			want: trust.Observation{Failure: "its address 169.254.169.254 is not dialled: it is link-local"},
		},
		{
			name: "an IPv6 address that is not dialled", address: "[fe80::1%lo]:80",
			want: trust.Observation{Failure: "its address fe80::1%lo is not dialled: it is link-local"},
		},
		{
			name: "no such host", address: "no-such-host.invalid:1", unresolved: true,
			want: trust.Observation{Failure: "its host name no-such-host.invalid is not known"},
		},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			var s *server
			switch {
			case test.config != nil:
				s = serveTLS(t, test.config)
				test.address = s.Addr().String()
			case test.peer != nil:
				test.address = test.peer(t)
			}
			d := domain(test.address, leaf.Certificate, before, after)
			if test.verifiesNothing {
				d.Parties[0].Verifies = nil
			}
			if !test.anonymous {
				d.Parties[0].Members[0].Probes[0].ClientLeaf = "web-client"
			}
			c, records := newCollector(t, &fixed{}, clientSecret(t, client))
			c.resolver = names{}
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			want := at(test.address, test.want)
			if test.unresolved {
				want.Instance = test.address
			}
			if diff := cmp.Diff(want, observedOf(t, records)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if test.served {
				if err := <-s.results; err != nil && !errors.Is(err, io.EOF) {
					t.Errorf("the server saw %v, want an orderly end", err)
				}
			}
			written := writes(records)
			d.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if n := writes(records); n != written {
				t.Errorf("%d writes for what was known", n-written)
			}
		})
	}
}

// TestFailureKeepsWhatCountsAgainst: of an unreachable server, the record keeps what it may still present. What it
// accepts must be observed again.
func TestFailureKeepsWhatCountsAgainst(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
	address := network.ClosedPort()
	d := domain(address, leaf.Certificate, ca)
	now := time.Now()
	before := *at(address, trust.Observation{
		TrustedSubjects: subjects(ca), Trusts: prints(ca), Presents: prints(leaf), ObservedAt: now, Expires: now.Add(time.Minute),
	})
	for _, test := range []struct {
		name   string
		change func(*trust.Observation)
		want   []pki.Fingerprint
	}{
		{name: "within its lease", change: func(*trust.Observation) {}, want: prints(leaf)},
		{name: "after its lease", change: func(o *trust.Observation) { o.Expires = now.Add(-time.Second) }},
		{name: "of another kind", change: func(o *trust.Observation) { o.Kind = trust.Acknowledgement }},
		{name: "of another address", change: func(o *trust.Observation) { o.Address, o.Instance = "10.0.0.1:1", "10.0.0.1:1@10.0.0.1:1" }},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			was := before
			test.change(&was)
			d.Parties[0].Members[0].Observations = []trust.Observation{was}
			c, records := newCollector(t, &fixed{})
			keep(t, records, "web", "servers", "a", was)
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			want := at(address, trust.Observation{Presents: test.want, Failure: dial.Unproven})
			if diff := cmp.Diff(want, observedOf(t, records)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func keep(t *testing.T, records *apifake.Server, domain, party, member string, observations ...trust.Observation) {
	t.Helper()
	r, err := record.OfEvidence(testNamespace, domain, party, member, observations)
	if err != nil {
		t.Fatal(err)
	}
	if err := records.Put(r); err != nil {
		t.Fatal(err)
	}
}

func TestMissingClientLeafIsSaid(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		ca := newAuthority(t, "ca@1")
		leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(ca), Certificates: []tls.Certificate{keyPair(t, leaf)},
		})
		d := domain(s.Addr().String(), leaf.Certificate, ca)
		d.Parties[0].Members[0].Probes[0].ClientLeaf = "web-client"
		c, records := newCollector(t, &fixed{})
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		want := at(s.Addr().String(), trust.Observation{
			TrustedSubjects: subjects(ca), Presents: prints(leaf), Failure: "the client leaf Secret/web-client does not exist",
		})
		if diff := cmp.Diff(want, observedOf(t, records)); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}

func TestEndIsNoObservation(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		ca := newAuthority(t, "ca@1")
		leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
		d := domain(silent(t), leaf.Certificate, ca)
		d.Parties[0].Members[0].Probes[0].Timeout = time.Minute
		c, records := newCollector(t, &fixed{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.Refresh(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want that the context has ended", err)
		}
		if o := observedOf(t, records); o != nil {
			t.Errorf("recorded %v", o)
		}
	})
}

// TestVisit follows a member through the stages. It is probed every second in flight. In the stage Stable it is
// probed less and less often until it follows, and then not at all.
func TestVisit(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		other, before, after := newAuthority(t, "ca@0"), newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
		serving := func(ca *pki.Pair) *server {
			return serveTLS(t, &tls.Config{
				MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(ca),
				Certificates: []tls.Certificate{keyPair(t, leaf)},
			})
		}
		s, issueUntrusted := serving(before), serving(other)
		inv := &fixed{}
		c, records := newCollector(t, inv)
		member := target{namespace: testNamespace, domain: "web", party: "servers", member: "a"}
		const enough = 12
		visits := func() (pauses []time.Duration) {
			for range enough {
				again, err := c.visit(t.Context(), member)
				if err != nil {
					t.Fatal(err)
				}
				if again == 0 {
					break
				}
				pauses = append(pauses, again)
			}
			return pauses
		}
		d := domain(issueUntrusted.Addr().String(), leaf.Certificate, before)
		inv.set(d)
		pauses := visits()
		if len(pauses) != enough || pauses[0] > 2*time.Second || pauses[enough-1] < longestPause || pauses[enough-1] > longestPause*11/10 {
			t.Errorf("in the stage Stable of who does not follow the pauses are %v, want some from 1 s up to %v", pauses, longestPause)
		}
		d = domain(s.Addr().String(), leaf.Certificate, before)
		inv.set(d)
		if got := visits(); len(got) != 0 {
			t.Errorf("the pauses in the stage Stable of who follows are %v, want none", got)
		}
		seen := recordOf(t, records, "web", "servers", "a")
		d = domain(s.Addr().String(), leaf.Certificate, before, after)
		d.Signer.Next = after.Certificate
		d.Parties[0].Members[0].Observations = seen
		inv.set(d)
		if got := visits(); len(got) != enough || slices.Max(got) > 2*time.Second {
			t.Errorf("the pauses in flight are %v, want about 1 s and no end", got)
		}
		d = domain(s.Addr().String(), leaf.Certificate, before)
		d.Parties[0].Members[0].Probes = nil
		inv.set(d)
		if got := visits(); len(got) != 0 {
			t.Errorf("%d probes of a member without a probe, want none", len(got))
		}
	})
}

func TestFanOutAddsOnce(t *testing.T) {
	ca, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
	inv := &fixed{}
	c, _ := newCollector(t, inv)
	d := domain("127.0.0.1:1", leaf.Certificate, ca, next)
	d.Signer.Next = next.Certificate
	inv.set(d)
	c.fanOut(t.Context(), testNamespace)
	c.fanOut(t.Context(), testNamespace)
	if n := c.queue.Len(); n != 1 {
		t.Errorf("%d members in the queue, want 1", n)
	}
	inv.set(&trust.Domain{Namespace: testNamespace, Name: "empty"})
	c.fanOut(t.Context(), testNamespace)
	if n := len(c.watched.targets); n != 0 {
		t.Errorf("%d members are remembered that do not exist", n)
	}
}

func TestRunProbesAndEnds(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		ca, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
		s := serveTLS(t, &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(ca, next),
			Certificates: []tls.Certificate{keyPair(t, leaf)},
		})
		d := domain(s.Addr().String(), leaf.Certificate, ca, next)
		d.Signer.Next = next.Certificate
		inv := &fixed{}
		inv.set(d)
		c, records := newCollector(t, inv)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		c.NamespaceChanged(testNamespace)
		// The second visit begins only after the first and its confirmations were recorded.
		for range 1 + confirmations + 1 {
			if err := <-s.results; err != nil {
				t.Errorf("the server saw %v", err)
			}
		}
		cancel()
		<-done
		want := at(s.Addr().String(), trust.Observation{TrustedSubjects: subjects(ca, next), Presents: prints(leaf)})
		if diff := cmp.Diff(want, observedOf(t, records)); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}
