// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// oneAtATime returns a handler that admits one review at a time.
func oneAtATime(t *testing.T, w *world) *Handler {
	t.Helper()
	h := newHandler(t, viewOf(w), namespaceOf(false))
	h.inFlight = make(chan struct{}, 1)
	return h
}

func TestReviewsWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		server := w.secrets["service-server"]
		h, body := oneAtATime(t, w), reviewOf(t, request(t, server, w.leaf("service-server", w.active)))
		h.inFlight <- struct{}{}
		read := false
		if answer := post(h, readerFunc(func([]byte) (int, error) { read = true; return 0, io.EOF })); answer.Code != http.StatusTooManyRequests || read {
			t.Errorf("status %d, its body was read: %t; want 429 before anything is read", answer.Code, read)
		}
		<-h.inFlight
		for range 3 {
			if answer := post(h, bytes.NewReader(body)); answer.Code != http.StatusOK {
				t.Errorf("status %d with the place free: %s", answer.Code, answer.Body)
			}
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestBodyHasADeadline: over a real connection, a client sends the beginning of a review and then nothing.
func TestBodyHasADeadline(t *testing.T) {
	w := newWorld(t)
	h := oneAtATime(t, w)
	h.bodyTimeout = 50 * time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	body, sender := io.Pipe()
	defer sender.Close()
	go func() { _, _ = sender.Write([]byte(`{"kind":`)) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400 when the time is over", answer.StatusCode)
	}
}
