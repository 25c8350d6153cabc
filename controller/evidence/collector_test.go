// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// observed returns what the record of the member says, without its time; nil if there is none.
func observed(t *testing.T, client *fake.Clientset) *trust.Observation {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps(testNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	name := evidence.RecordName("web", "servers", "a")
	if len(list.Items) != 1 || list.Items[0].Name != name {
		t.Fatalf("%d records, the first is %s; want one named %s", len(list.Items), list.Items[0].Name, name)
	}
	_, _, _, o, err := evidence.Decode(list.Items[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	o.ObservedAt = time.Time{}
	return o
}

func subjects(cas ...*pki.Pair) []string {
	var out []string
	for _, ca := range cas {
		out = append(out, ca.Certificate.SubjectHash)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func writes(client *fake.Clientset) int {
	n := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == "create" || action.GetVerb() == "update" {
			n++
		}
	}
	return n
}

func TestRefresh(t *testing.T) {
	before, after, twin, foreign := newAuthority(t, "ca@1"), newAuthority(t, "ca@2"), newAuthority(t, "ca@2"), newAuthority(t, "foreign")
	leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
	strange := newLeaf(t, foreign, serverDNS, pki.ServerAuth)
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
		// config of the server; address if there is none.
		config  *tls.Config
		address string
		// anonymous probes have no client leaf; served says that the server sees a good handshake.
		anonymous, served bool
		want              trust.Observation
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
			want: trust.Observation{Presents: presents(leaf)},
		},
		{
			name: "a leaf of a foreign CA", config: mutual(strange, tls.VersionTLS13, before), served: true,
			want: trust.Observation{
				TrustedSubjects: subjects(before), Presents: presents(strange),
				Failure: "it presents a certificate that chains to no anchor of the bundle",
			},
		},
		{
			name: "a leaf of another name", config: mutual(misnamed, tls.VersionTLS13, before), served: true,
			want: trust.Observation{
				TrustedSubjects: subjects(before), Presents: presents(misnamed),
				Failure: "it presents a certificate that is not for the name web.demo.svc",
			},
		},
		{
			name: "nobody listens", address: refused(t),
			want: trust.Observation{Failure: "it cannot be reached: connection refused"},
		},
		{
			name: "it never answers", address: silent(t),
			want: trust.Observation{Failure: "it does not answer in time"},
		},
		{
			name: "no such host", address: "no-such-host.invalid:1",
			want: trust.Observation{Failure: "its host name no-such-host.invalid is not known"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *server
			if test.config != nil {
				s = serveTLS(t, test.config)
				test.address = s.Addr().String()
			}
			d := domain(test.address, leaf.Certificate, before, after)
			if !test.anonymous {
				d.Parties[0].Members[0].Probe.ClientLeaf = "web-client"
			}
			c, kube := newCollector(t, &fixed{}, clientSecret(t, client))
			if strings.HasPrefix(test.address, "no-such-host") {
				test.want.Failure = hostFailure(t, c, test.address, test.want.Failure)
			}
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			got := observed(t, kube)
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if test.served {
				if err := <-s.results; err != nil && !errors.Is(err, io.EOF) {
					t.Errorf("the server saw %v, want an orderly end", err)
				}
			}
			written := writes(kube)
			d.Parties[0].Members[0].Observation = got
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if n := writes(kube); n != written {
				t.Errorf("%d writes for what was known", n-written)
			}
		})
	}
}

// hostFailure allows for a machine whose resolver cannot tell that a name does not exist.
func hostFailure(t *testing.T, c *Collector, address, want string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	conn, err := c.dial(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
		t.Fatalf("%s can be reached", address)
	}
	if text := connection.Failure(ctx, err); text != want {
		return text
	}
	return want
}

func TestFailureKeepsWhatWasSeen(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
	d := domain(refused(t), leaf.Certificate, ca)
	d.Parties[0].Members[0].Observation = &trust.Observation{
		TrustedSubjects: subjects(ca), Presents: []pki.Fingerprint{leaf.Certificate.Fingerprint}, ObservedAt: time.Now(),
	}
	c, client := newCollector(t, &fixed{})
	if err := c.Refresh(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	want := *d.Parties[0].Members[0].Observation
	want.ObservedAt, want.Failure = time.Time{}, "it cannot be reached: connection refused"
	if diff := cmp.Diff(&want, observed(t, client)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestMissingClientLeafIsSaid(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
	d := domain(refused(t), leaf.Certificate, ca)
	d.Parties[0].Members[0].Probe.ClientLeaf = "web-client"
	c, client := newCollector(t, &fixed{})
	if err := c.Refresh(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	want := &trust.Observation{Failure: "the client leaf Secret/web-client does not exist"}
	if diff := cmp.Diff(want, observed(t, client)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestRestartMakesTheSameNews(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	same := &trust.Observation{Trusts: []pki.Fingerprint{"x"}, ObservedAt: at}
	for name, test := range map[string]struct {
		restarted time.Time
		want      bool
	}{
		"no restart":               {want: false},
		"restarted before":         {restarted: at.Add(-time.Minute), want: false},
		"restarted since the last": {restarted: at.Add(time.Minute), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := news(&trust.Member{RestartedAt: test.restarted}, same, same); got != test.want {
				t.Errorf("news is %t, want %t", got, test.want)
			}
		})
	}
}

func TestEndIsNoObservation(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, serverDNS, pki.ServerAuth)
	d := domain(silent(t), leaf.Certificate, ca)
	d.Parties[0].Members[0].Probe.Timeout = time.Minute
	c, client := newCollector(t, &fixed{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Refresh(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want that the context has ended", err)
	}
	if o := observed(t, client); o != nil {
		t.Errorf("recorded %v", o)
	}
}

// TestVisit follows a member through the stages: probed while in flight, more and more rarely in the stage Stable while it
// has not followed, and left alone afterwards.
func TestVisit(t *testing.T) {
	before, after := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf := newLeaf(t, before, serverDNS, pki.ServerAuth)
	s := serveTLS(t, &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(before),
		Certificates: []tls.Certificate{keyPair(t, leaf)},
	})
	inv := &fixed{}
	c, client := newCollector(t, inv)
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
	d := domain(s.Addr().String(), leaf.Certificate, before)
	inv.set(d)
	pauses := visits()
	if len(pauses) != enough || pauses[0] > 6*time.Second || pauses[enough-1] < longestPause || pauses[enough-1] > longestPause*11/10 {
		t.Errorf("in the stage Stable without evidence the pauses are %v, want some from 5 s up to %v", pauses, longestPause)
	}
	seen := observed(t, client)
	seen.ObservedAt = time.Now()
	d = domain(s.Addr().String(), leaf.Certificate, before)
	d.Parties[0].Members[0].Observation = seen
	inv.set(d)
	if got := visits(); len(got) != 0 {
		t.Errorf("%d probes in the stage Stable with evidence, want none", len(got))
	}
	d = domain(s.Addr().String(), leaf.Certificate, before, after)
	d.Signer.Next = after.Certificate
	d.Parties[0].Members[0].Observation = seen
	inv.set(d)
	if got := visits(); len(got) != enough || slices.Max(got) > 6*time.Second {
		t.Errorf("the pauses in flight are %v, want about 5 s and no end", got)
	}
	d = domain(s.Addr().String(), leaf.Certificate, before)
	d.Parties[0].Members[0].Probe = nil
	inv.set(d)
	if got := visits(); len(got) != 0 {
		t.Errorf("%d probes of a member without a probe, want none", len(got))
	}
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
	c, client := newCollector(t, inv)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	c.NamespaceChanged(testNamespace)
	if err := <-s.results; err != nil {
		t.Errorf("the server saw %v", err)
	}
	// The second probe begins only after the first was recorded.
	if err := <-s.results; err != nil {
		t.Errorf("the server saw %v", err)
	}
	cancel()
	<-done
	want := &trust.Observation{TrustedSubjects: subjects(ca, next), Presents: []pki.Fingerprint{leaf.Certificate.Fingerprint}}
	if diff := cmp.Diff(want, observed(t, client)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
