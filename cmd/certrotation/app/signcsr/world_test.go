// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testToken = "abcdef.0123456789abcdef"
	testNode  = "master-0"
	caYears   = 10 * 365 * 24 * time.Hour
)

// world is a running signer, and the files that it reads.
type world struct {
	t       *testing.T
	dir     string
	options *Options
	clock   *testclock.FakePassiveClock
	server  *Server
	// stop ends the server and returns the error of Run.
	stop func() error

	ca, metricCA, servingCA, clientCA *pki.Pair
}

// newWorld starts a signer of two nodes. It calls edit before the start.
func newWorld(t *testing.T, edit func(*world)) *world {
	t.Helper()
	// Handshakes use the real clock.
	w := &world{t: t, dir: t.TempDir(), options: NewOptions(), clock: testclock.NewFakePassiveClock(time.Now().Truncate(time.Second))}
	w.ca, w.metricCA = w.authority("etcd", caYears), w.authority("metric", caYears)
	w.servingCA, w.clientCA = w.authority("serving", caYears), w.authority("clients", caYears)
	o := w.options
	o.BindAddress, o.HealthBindAddress = "127.0.0.1:0", "127.0.0.1:0"
	o.CACert, o.CAKey = w.files("ca", w.ca)
	o.MetricCACert, o.MetricCAKey = w.files("metric-ca", w.metricCA)
	cert, key := w.files("serving", w.leaf(w.servingCA, pki.Profile{IPAddresses: []string{"127.0.0.1"}, Usages: []pki.Usage{pki.ServerAuth}}))
	named, namedKey := w.files("named", w.leaf(w.servingCA, pki.Profile{DNSNames: []string{"signer.example"}, Usages: []pki.Usage{pki.ServerAuth}}))
	o.ServingCerts, o.ServingKeys = []string{cert, named}, []string{key, namedKey}
	o.TokenFile = w.file("token", []byte(testToken+"\n"))
	o.ClientCAFile = w.file("client-ca.crt", w.clientCA.CertPEM())
	o.Nodes = []string{testNode + "=10.0.0.10,master-0.example"}
	o.NodesFile = w.file("nodes.yaml", []byte("nodes: [{name: master-1, ipAddresses: [10.0.0.11]}]\n"))
	o.StorageDir = filepath.Join(w.dir, "storage")
	if edit != nil {
		edit(w)
	}
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	if err := w.options.Validate(); err != nil {
		w.t.Fatal(err)
	}
	_, ctx := ktesting.NewTestContext(w.t)
	ctx, cancel := context.WithCancel(ctx)
	server, err := New(ctx, w.options, w.clock)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	w.server = server
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stopped := false
	w.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	w.t.Cleanup(func() {
		if err := w.stop(); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
}

func (w *world) authority(name string, validity time.Duration) *pki.Pair {
	w.t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: validity, Backdate: time.Hour}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

func (w *world) leaf(ca *pki.Pair, profile pki.Profile) *pki.Pair {
	w.t.Helper()
	profile.Key, profile.Validity, profile.Backdate = pki.ECDSAP256, time.Hour, time.Hour
	pair, err := ca.Issue(profile, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

func (w *world) file(name string, data []byte) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) files(name string, pair *pki.Pair) (cert, key string) {
	w.t.Helper()
	keyPEM, err := pair.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.file(name+".crt", pair.CertPEM()), w.file(name+".key", keyPEM)
}

// client returns an HTTP client that verifies the signer. The client certificate pair may be nil.
func (w *world) client(pair *pki.Pair) *http.Client {
	w.t.Helper()
	config := w.tlsConfig()
	if pair != nil {
		keyPEM, err := pair.KeyPEM()
		if err != nil {
			w.t.Fatal(err)
		}
		certificate, err := tls.X509KeyPair(pair.CertPEM(), keyPEM)
		if err != nil {
			w.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func (w *world) tlsConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.servingCA.CertPEM())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (w *world) url(path string) string { return "https://" + w.server.secure.Addr().String() + path }

// call sends a request with the token, and reads the whole answer.
func (w *world) call(method, path string, body []byte, edit func(*http.Request)) (*http.Response, []byte) {
	w.t.Helper()
	return w.callWith(w.client(nil), method, path, body, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+testToken)
		if edit != nil {
			edit(r)
		}
	})
}

func (w *world) callWith(client *http.Client, method, path string, body []byte, edit func(*http.Request)) (*http.Response, []byte) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url(path), bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if edit != nil {
		edit(request)
	}
	response, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response, data
}

// post creates an object. It returns the code and either the created object or the status.
func (w *world) post(object *certificatesv1.CertificateSigningRequest) (int, *certificatesv1.CertificateSigningRequest, *metav1.Status) {
	w.t.Helper()
	response, data := w.call(http.MethodPost, collection, encode(w.t, object), nil)
	return decode(w.t, response.StatusCode, data)
}

func decode(t *testing.T, code int, data []byte) (int, *certificatesv1.CertificateSigningRequest, *metav1.Status) {
	t.Helper()
	if code < 300 {
		object := &certificatesv1.CertificateSigningRequest{}
		if err := json.Unmarshal(data, object); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		return code, object, nil
	}
	status := &metav1.Status{}
	if err := json.Unmarshal(data, status); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if status.Kind != "Status" || status.Status != metav1.StatusFailure || int(status.Code) != code || status.Message == "" {
		t.Errorf("the answer of %d is no failure Status: %s", code, data)
	}
	return code, nil, status
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ask returns a certificate request. It is sound unless edit changes it.
func ask(t testing.TB, key crypto.Signer, edit func(*x509.CertificateRequest)) []byte {
	t.Helper()
	template := &x509.CertificateRequest{
		Subject:     pkix.Name{Organization: []string{csr.EtcdPeer.Organization()}, CommonName: csr.EtcdPeer.CommonName(testNode)},
		DNSNames:    []string{testNode, "master-0.example", "localhost"},
		IPAddresses: []net.IP{net.ParseIP("10.0.0.10"), net.ParseIP("127.0.0.1")},
	}
	if edit != nil {
		edit(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// object returns a CertificateSigningRequest of the profile EtcdPeer.
func object(name string, request []byte) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		TypeMeta:   csr.TypeMeta(),
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: csr.EtcdPeer.SignerName(),
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth,
			},
		},
	}
}

// firstKey is the key of the node in all tests. The signer refuses another one.
var firstKey = sync.OnceValues(func() (crypto.Signer, error) { return pki.GenerateKey(pki.ECDSAP256) })

func nodeKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := firstKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
