// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// never answers no request: it waits for the context to end.
type never struct{}

func (never) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// atOnce answers at once and records whether the request has a deadline.
type atOnce struct{ deadline bool }

func (a *atOnce) RoundTrip(request *http.Request) (*http.Response, error) {
	_, a.deadline = request.Context().Deadline()
	return &http.Response{Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		response, err := bounded{never{}}.RoundTrip(request(t, "https://api/secrets"))
		if err == nil {
			_ = response.Body.Close()
			t.Fatal("answered")
		}
		if waited := time.Since(begun); waited != requestTimeout {
			t.Errorf("waited %s, want %s", waited, requestTimeout)
		}
	})
	for url, want := range map[string]bool{"https://api/secrets": true, "https://api/secrets?watch=true": false} {
		server := &atOnce{}
		response, err := bounded{server}.RoundTrip(request(t, url))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "ok" {
			t.Errorf("%s: read %q, %v", url, body, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if server.deadline != want {
			t.Errorf("%s: deadline %v, want %v", url, server.deadline, want)
		}
	}
}
