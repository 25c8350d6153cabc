// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNode: logs are for kube-apiserver alone; the webhook answers reviews.
func TestNode(t *testing.T) {
	server := httptest.NewTLSServer(nodeHandler())
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		method, path, body string
		code               int
	}{
		{method: http.MethodGet, path: "/healthz", code: http.StatusOK},
		{method: http.MethodGet, path: "/containerLogs/default/a/b", code: http.StatusForbidden},
		{method: http.MethodPost, path: "/validate", body: `{"request":{"uid":"a"}}`, code: http.StatusOK},
		{method: http.MethodPost, path: "/validate", body: `{}`, code: http.StatusBadRequest},
		{method: http.MethodPost, path: "/validate", body: `{`, code: http.StatusBadRequest},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if response.StatusCode != tt.code {
			t.Errorf("%s %s %s: %s, want %d", tt.method, tt.path, tt.body, response.Status, tt.code)
		}
	}
}
