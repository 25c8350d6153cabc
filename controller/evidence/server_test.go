// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/pipenet"
)

const (
	testNamespace = "demo"
	serverDNS     = "web.demo.svc"
)

// network has the servers of all tests.
var network pipenet.Network

func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { pipenet.Test(t, test) })
}

// dialLoopback dials the servers of the test, and refuses what a dialer refuses that is allowed to dial loopback.
func dialLoopback(ctx context.Context, kind, address string) (net.Conn, error) {
	endpoint, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if refusal := dial.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil).Judge(endpoint.Addr()); refusal != nil {
		return nil, refusal
	}
	return network.DialContext(ctx, kind, address)
}

func newAuthority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func newLeaf(t *testing.T, ca *pki.Pair, name string, usage pki.Usage) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: name, DNSNames: []string{name}, Usages: []pki.Usage{usage}, Key: pki.ECDSAP256, Validity: time.Hour,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func keyPair(t *testing.T, pair *pki.Pair) tls.Certificate {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	out, err := tls.X509KeyPair(pair.CertPEM(), key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func pool(cas ...*pki.Pair) *x509.CertPool {
	p := x509.NewCertPool()
	for _, ca := range cas {
		p.AppendCertsFromPEM(ca.Certificate.PEM())
	}
	return p
}

// server is a TLS server that reports how its handshakes ended.
type server struct {
	net.Listener
	results chan error
	conns   sync.WaitGroup
}

func serveTLS(t *testing.T, config *tls.Config) *server {
	t.Helper()
	return serveEach(t, func() *tls.Config { return config })
}

// serveEach has choose pick the configuration of each connection.
func serveEach(t *testing.T, choose func() *tls.Config) *server {
	t.Helper()
	listener := network.Listen()
	s := &server{Listener: listener, results: make(chan error, 100)}
	s.conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			config := choose()
			s.conns.Go(func() { s.serve(tls.Server(conn, config)) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); s.conns.Wait() })
	return s
}

// serve reads to the end, as a server does that waits for a request. A reset shows as an error.
func (s *server) serve(conn *tls.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	select {
	case s.results <- err:
	default: // no test needs that many results
	}
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener := network.Listen()
	var conns sync.WaitGroup
	conns.Go(func() {
		var open []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
			open = append(open, conn)
		}
	})
	t.Cleanup(func() { _ = listener.Close(); conns.Wait() })
	return listener.Addr().String()
}

// speaking is a server that writes one text and closes the connection.
func speaking(text string) func(t *testing.T) string {
	return func(t *testing.T) string {
		return accepting(t, func(conn net.Conn) { _, _ = io.WriteString(conn, text) }).Addr().String()
	}
}

// fixed is an Inventory with one namespace.
type fixed struct {
	mu sync.Mutex
	n  *inventory.Namespace
}

func (f *fixed) Namespace(string) *inventory.Namespace {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *fixed) set(d *trust.Domain) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n = &inventory.Namespace{Name: testNamespace, Domains: []*trust.Domain{d}}
}

// domain has one probed member that holds leaf and is reached at address.
func domain(address string, leaf *pki.Certificate, anchors ...*pki.Pair) *trust.Domain {
	d := &trust.Domain{
		Namespace: testNamespace, Name: "web", Configuration: "pki",
		Signer: trust.Signer{Object: trust.Object{Name: "web-signer", Present: true}, Active: anchors[0].Certificate},
		Bundle: trust.Bundle{Object: trust.Object{Name: "web-bundle", Present: true}},
		Leaves: []trust.Leaf{{
			Object: trust.Object{Name: "web-server", Present: true}, Certificate: leaf,
			Policy: trust.Policy{RenewAtPercent: 80, Profile: pki.Profile{DNSNames: []string{serverDNS}}},
		}},
		Parties: []trust.Party{{Name: "servers", Kind: trust.TLSProbe, Verifies: []string{"web-client"}, Members: []trust.Member{{
			Name: "a", Holds: []string{"web-server"}, Probes: []trust.Probe{{
				Address: address, Presents: "web-server", ServerName: serverDNS, Interval: time.Second, Timeout: time.Second,
			}},
		}}}},
	}
	d.Signer.Policy = trust.Policy{RenewAtPercent: 80}
	for _, ca := range anchors {
		d.Bundle.Anchors = append(d.Bundle.Anchors, ca.Certificate)
	}
	return d
}

// consenting returns the metadata of an object that the configuration of the domain may use.
func consenting(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: testNamespace, Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: "pki"}}
}

func clientSecret(t *testing.T, pair *pki.Pair) runtime.Object {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: consenting("web-client"),
		Data:       map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: key},
	}
}

// signerSecret holds active, and next unless it is nil.
func signerSecret(t *testing.T, active, next *pki.Pair) runtime.Object {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: consenting("web-signer"), Data: map[string][]byte{}}
	set := func(pair *pki.Pair, cert, key string) {
		text, err := pair.KeyPEM()
		if err != nil {
			t.Fatal(err)
		}
		secret.Data[cert], secret.Data[key] = pair.Certificate.PEM(), text
	}
	set(active, inventory.ActiveCertKey, inventory.ActiveKeyKey)
	if next != nil {
		set(next, inventory.NextCertKey, inventory.NextKeyKey)
	}
	return secret
}

// timeNow returns the time with the precision of a record.
func timeNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// newCollector returns a collector, and the API server that it reads from and records to.
func newCollector(t *testing.T, inv Inventory, objects ...runtime.Object) (*Collector, *apifake.Server) {
	t.Helper()
	api := apifake.New(t, clock.RealClock{}, objects...)
	return collectorWith(t, api, &Config{Inventory: inv}), api
}

func collectorWith(t *testing.T, api *apifake.Server, cfg *Config) *Collector {
	t.Helper()
	cfg.Client, cfg.Records, cfg.Targets = api.Client, api.Own.ConfigV1alpha1(), api.Dynamic
	if cfg.Dial == nil {
		cfg.Dial = dialLoopback
	}
	c, err := New(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.queue.ShutDown)
	return c
}
