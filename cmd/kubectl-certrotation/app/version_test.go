// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/component-base/version"
)

// TestVersion asks a kube-apiserver that passes on the OpenAPI document of certrotation, or has none.
func TestVersion(t *testing.T) {
	client := "Client Version: " + version.Get().GitVersion + "\n"
	for _, tt := range []struct {
		name, document, args string
		status               int
		want, says           string
	}{
		{name: "both", document: `{"openapi":"3.0.0","info":{"title":"certrotation","version":"v0.1.0"}}`, want: client + "Server Version: v0.1.0\n"},
		{name: "what it says is made visible", document: `{"info":{"version":"v0.1.0\u001b[2J"}}`, want: client + "Server Version: v0.1.0\\u001b[2J\n"},
		{name: "for a program", document: `{"info":{"version":"v0.1.0"}}`, args: "-o jsonpath={.clientVersion.gitVersion}/{.serverVersion.gitVersion}",
			want: version.Get().GitVersion + "/v0.1.0"},
		{name: "not asked", args: "--client", status: http.StatusTeapot, want: client},
		{name: "not installed", status: http.StatusNotFound, want: client,
			says: "error: the API certrotation.dev/v1alpha1 is not served by this cluster\nLook at: kubectl get apiservice v1alpha1.certrotation.dev\n"},
		{name: "down", status: http.StatusServiceUnavailable, want: client, says: "The certrotation API server may be down."},
		{name: "no document", document: "<html>", want: client, says: "error: decode /openapi/v3/apis/certrotation.dev/v1alpha1: "},
		{name: "a document without a version", document: "{}", want: client, says: "names no version of the server"},
		{name: "one without an end", document: `{"x":"` + strings.Repeat("x", maxOpenAPIBytes), want: client, says: "unexpected EOF"},
		{name: "another format", args: "-o name", says: `output format "name"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/openapi/v3/apis/certrotation.dev/v1alpha1" || r.Header.Get("Accept") != "application/json" {
					t.Errorf("asked for %s as %s", r.URL, r.Header.Get("Accept"))
				}
				if tt.status != 0 {
					w.WriteHeader(tt.status)
					return
				}
				_, _ = w.Write([]byte(tt.document))
			}))
			defer server.Close()
			s := remote(t)
			code := s.run(t.Context(), append([]string{"--server", server.URL, "version"}, strings.Fields(tt.args)...)...)
			if (code == 0) != (tt.says == "") || !strings.Contains(s.errOut.String(), tt.says) {
				t.Errorf("exit code %d, error %q, want %q", code, s.errOut.String(), tt.says)
			}
			if got := s.out.String(); got != tt.want {
				t.Errorf("printed %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVersionSkew(t *testing.T) {
	const then = ": use the plugin of the server's version"
	for _, tt := range []struct{ name, client, server, want string }{
		{name: "the same", client: "v0.1.0", server: "v0.1.0"},
		{name: "another patch", client: "v0.1.0", server: "v0.1.3"},
		{name: "a build of the same", client: "v0.1.0-dev+0a1b2c3d", server: "v0.1.0"},
		{name: "an older plugin", client: "v0.1.9", server: "v0.2.0", want: "the plugin (v0.1.9) is older than the server (v0.2.0)" + then},
		{name: "a newer plugin", client: "v1.0.0", server: "v0.2.0", want: "the plugin (v1.0.0) is newer than the server (v0.2.0)" + then},
		{name: "a plugin without a version", client: "v0.0.0-master+$Format:%H$", server: "v0.2.0"},
		{name: "a server without a version", client: "v0.1.0", server: "unversioned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := skewOf(tt.client, tt.server); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
