// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// reloadAfter is the delay between a new leaf and its loading by a webhook. The webhook also waits that long after
// the last connection of a probe. A probe makes many connections. A webhook that reloads during a probe gives two
// different answers, and then its answers do not count for a minute.
const reloadAfter = 500 * time.Millisecond

// hookServer is a webhook that allows everything. It presents the leaf that it loaded last.
type hookServer struct {
	client kubernetes.Interface
	// Secret of the leaf.
	namespace, secret string
	leaf              atomic.Pointer[tls.Certificate]
	// calls is the address for calls of kube-apiserver. Probes use another address.
	calls string
	// reviews counts the answered calls.
	reviews atomic.Int64
	// probed is the time of the last connection of a probe, in nanoseconds.
	probed atomic.Int64
}

// newHookServer serves calls, and probes on the listener, until the test ends. Handshakes fail before a leaf is
// loaded.
func newHookServer(t *testing.T, p *plane, namespace, secret string, probes net.Listener) *hookServer {
	t.Helper()
	h := &hookServer{client: p.client, namespace: namespace, secret: secret}
	h.serve(t, probes, func() { h.probed.Store(time.Now().UnixNano()) })
	calls := listen(t, "127.0.0.1:0")
	h.calls = calls.Addr().String()
	h.serve(t, calls, func() {})
	return h
}

// listen listens on an address.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serve disables connection reuse and session tickets, so that each request has a handshake of its own.
func (h *hookServer) serve(t *testing.T, listener net.Listener, connected func()) {
	t.Helper()
	server := &http.Server{Handler: h, ReadHeaderTimeout: patience, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	server.SetKeepAlivesEnabled(false)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				connected()
				return h.leaf.Load(), nil
			},
		}))
	}()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve the webhook: %v", err)
		}
	})
}

// ServeHTTP implements http.Handler.
func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	h.reviews.Add(1)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(&review)
}

func (h *hookServer) load(ctx context.Context) error {
	secret, err := h.client.CoreV1().Secrets(h.namespace).Get(ctx, h.secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err
	}
	h.leaf.Store(&pair)
	return nil
}

// reload loads each new leaf until ctx ends.
func (h *hookServer) reload(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var version string
	var changed time.Time
	for loaded := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// After an error it keeps its leaf, like a real server.
		secret, err := h.client.CoreV1().Secrets(h.namespace).Get(ctx, h.secret, metav1.GetOptions{})
		switch {
		case err != nil:
		case secret.ResourceVersion != version:
			version, changed, loaded = secret.ResourceVersion, time.Now(), false
		case !loaded && time.Since(changed) >= reloadAfter && time.Since(time.Unix(0, h.probed.Load())) >= reloadAfter:
			loaded = h.load(ctx) == nil
		}
	}
}
