// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// aggregated answers acknowledgements instead of the aggregated API, and passes on all other requests.
type aggregated struct {
	*httptest.Server
	away atomic.Bool
	// observe is called with each acknowledgement, before it is answered.
	observe func(signer string, ack v1alpha1.Acknowledgement)

	mu     sync.Mutex
	newest map[string]v1alpha1.Acknowledgement // by signer/party/member
	count  int
}

func newAggregated(t *testing.T, behind *rest.Config) *aggregated {
	t.Helper()
	a := &aggregated{newest: map[string]v1alpha1.Acknowledgement{}, observe: func(string, v1alpha1.Acknowledgement) {}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/certrotation.dev/v1alpha1/namespaces/{namespace}/certificaterotations/{name}/acknowledge", a.acknowledge)
	if behind != nil {
		transport, err := rest.TransportFor(behind)
		if err != nil {
			t.Fatal(err)
		}
		target, err := url.Parse(behind.Host)
		if err != nil {
			t.Fatal(err)
		}
		mux.Handle("/", &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: transport, FlushInterval: -1,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			},
		})
	}
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *aggregated) acknowledge(w http.ResponseWriter, r *http.Request) {
	var ack v1alpha1.Acknowledgement
	if err := json.NewDecoder(r.Body).Decode(&ack); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if a.away.Load() {
		http.Error(w, "the aggregated API is away", http.StatusServiceUnavailable)
		return
	}
	signer := r.PathValue("namespace") + "/" + r.PathValue("name")
	a.observe(signer, ack)
	a.mu.Lock()
	a.newest[strings.Join([]string{signer, ack.Party, ack.Member}, "/")] = ack
	a.count++
	a.mu.Unlock()
	ack.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Acknowledgement"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(ack)
}

func (a *aggregated) of(key string) (v1alpha1.Acknowledgement, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ack, ok := a.newest[key]
	return ack, ok
}

func (a *aggregated) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// background runs a function until stop or the end of the test, and waits for it.
func background(t *testing.T, run func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}
