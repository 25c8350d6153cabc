// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

func TestFilesAreReadAgain(t *testing.T) {
	w := newWorld(t, nil)
	request := object("node-2", ask(t, nodeKey(t), nil))

	t.Run("CA", func(t *testing.T) {
		w.t = t
		w.ca = w.authority("another", caYears)
		w.files("ca", w.ca)
		_, got, status := w.post(request)
		if got == nil || !csr.Issued(got).SignedBy(w.ca.Certificate) {
			t.Errorf("want a certificate of the new CA: %v", status)
		}
	})
	t.Run("broken CA fails closed", func(t *testing.T) {
		w.t = t
		w.file("ca.crt", []byte("garbage"))
		code, _, status := w.post(object("node-3", ask(t, nodeKey(t), nil)))
		if code != http.StatusServiceUnavailable || strings.Contains(status.Message, w.dir) {
			t.Errorf("code %d, message %q: want 503 without a path", code, status.Message)
		}
		if response, _ := w.call(http.MethodGet, "/readyz", nil, nil); response.StatusCode != http.StatusOK {
			t.Errorf("/readyz answers %d before anybody has looked, want 200: it reads nothing", response.StatusCode)
		}
		w.server.check(t.Context())
		if response, _ := w.call(http.MethodGet, "/readyz", nil, nil); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("/readyz answers %d, want 503", response.StatusCode)
		}
		w.files("ca", w.ca)
		w.server.check(t.Context())
		if response, _ := w.call(http.MethodGet, "/readyz", nil, nil); response.StatusCode != http.StatusOK {
			t.Errorf("/readyz answers %d, want 200", response.StatusCode)
		}
	})
	t.Run("expired CA", func(t *testing.T) {
		w.t = t
		w.clock.SetTime(w.clock.Now().Add(2 * caYears))
		defer w.clock.SetTime(w.clock.Now().Add(-2 * caYears))
		if code, _, _ := w.post(object("node-4", ask(t, nodeKey(t), nil))); code != http.StatusServiceUnavailable {
			t.Errorf("code %d, want 503", code)
		}
	})
	t.Run("nodes", func(t *testing.T) {
		w.t = t
		w.file("nodes.yaml", []byte("nodes: [{name: master-1}]\nunknown: 1\n"))
		if code, _, _ := w.post(object("node-5", ask(t, nodeKey(t), nil))); code != http.StatusInternalServerError {
			t.Errorf("broken nodes: code %d, want 500", code)
		}
		w.file("nodes.yaml", []byte("shared: {dnsNames: [etcd.svc]}\nnodes: [{name: master-1}]\n"))
		if code, _, status := w.post(object("node-5", ask(t, nodeKey(t), nil))); code != http.StatusCreated {
			t.Errorf("mended nodes: code %d: %v", code, status)
		}
	})
	t.Run("token", func(t *testing.T) {
		w.t = t
		w.file("token", []byte("another.0123456789abcdef\n"))
		if response, _ := w.call(http.MethodGet, collection+"/node-2", nil, nil); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("the old token: code %d, want 401", response.StatusCode)
		}
	})
	t.Run("token that others can read", func(t *testing.T) {
		w.t = t
		path := w.file("token", []byte(testToken))
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if response, _ := w.call(http.MethodGet, collection+"/node-2", nil, nil); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("code %d, want 401", response.StatusCode)
		}
	})
}

// TestServingCertificates expects a certificate for the server name of the client. The files are read for each
// handshake.
func TestServingCertificates(t *testing.T) {
	w := newWorld(t, nil)
	presented := func(name string) pki.Fingerprint {
		t.Helper()
		config := w.tlsConfig()
		config.ServerName = name
		connection, err := tls.Dial("tcp", w.server.secure.Addr().String(), config)
		if err != nil {
			t.Fatalf("handshake for %q: %v", name, err)
		}
		defer connection.Close()
		leaf, err := pki.ParseCertificate(connection.ConnectionState().PeerCertificates[0].Raw)
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Fingerprint
	}
	byAddress, byName := presented("127.0.0.1"), presented("signer.example")
	if byAddress == byName {
		t.Error("both names get the same certificate")
	}
	w.files("named", w.leaf(w.servingCA, pki.Profile{DNSNames: []string{"signer.example"}, Usages: []pki.Usage{pki.ServerAuth}}))
	if again := presented("signer.example"); again == byName {
		t.Error("a replaced serving certificate is not presented")
	}
	if again := presented("127.0.0.1"); again != byAddress {
		t.Error("the other serving certificate changed")
	}
}

func TestMetricCAOnly(t *testing.T) {
	w := newWorld(t, func(w *world) { w.options.CACert, w.options.CAKey = "", "" })
	code, _, status := w.post(object("peer", ask(t, nodeKey(t), nil)))
	if code != http.StatusForbidden || !strings.Contains(status.Message, "no etcd CA") {
		t.Errorf("code %d, %v: want 403 that names the CA", code, status)
	}
	if response, _ := w.call(http.MethodGet, "/readyz", nil, nil); response.StatusCode != http.StatusOK {
		t.Errorf("/readyz answers %d, want 200", response.StatusCode)
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t, nil)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, url := range []string{"http://" + w.server.health.Addr().String(), w.url("")} {
			request, err := http.NewRequestWithContext(t.Context(), method, url+"/readyz", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := w.client(nil).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s %s/readyz: %d, want 200", method, url, response.StatusCode)
			}
		}
	}
	response, err := http.Get("http://" + w.server.health.Addr().String() + collection + "/x")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("the insecure port answers %d to more than /readyz, want 404", response.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestShutdown expects an answer to a request in flight, and an unlocked storage directory.
func TestShutdown(t *testing.T) {
	w := newWorld(t, nil)
	w.server.store.Lock()
	answered := make(chan int, 1)
	go func() {
		code, _, _ := w.post(object("in-flight", ask(t, nodeKey(t), nil)))
		answered <- code
	}()
	// The request is in flight once its connection waits for the lock of the store. An earlier shutdown would
	// refuse it.
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return w.server.inFlight.Load() > 0, nil
	})
	if err != nil {
		t.Fatal("the request does not arrive")
	}
	ended := make(chan error, 1)
	go func() { ended <- w.stop() }()
	w.server.store.Unlock()
	if code := <-answered; code != http.StatusCreated {
		t.Errorf("the request in flight: %d, want 201", code)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	w.start()
}
