// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

func TestAuthentication(t *testing.T) {
	w := newWorld(t, nil)
	person := func(ca *pki.Pair, name string, organizations ...string) *pki.Pair {
		return w.leaf(ca, pki.Profile{CommonName: name, Organizations: organizations, Usages: []pki.Usage{pki.ClientAuth}})
	}
	for name, tc := range map[string]struct {
		authorization string
		pair          *pki.Pair
		code          int
		reason        csr.Reason
	}{
		"nothing":                       {code: http.StatusUnauthorized},
		"token":                         {authorization: "Bearer " + testToken, code: http.StatusCreated},
		"wrong token":                   {authorization: "Bearer " + testToken + "0", code: http.StatusUnauthorized},
		"empty token":                   {authorization: "Bearer ", code: http.StatusUnauthorized},
		"basic":                         {authorization: "Basic " + testToken, code: http.StatusUnauthorized},
		"wrong token with certificate":  {authorization: "Bearer x", pair: person(w.clientCA, "boss", csr.GroupBootstrappers), code: http.StatusUnauthorized},
		"bootstrapper":                  {pair: person(w.clientCA, "boss", csr.GroupBootstrappers), code: http.StatusCreated},
		"the node":                      {pair: person(w.clientCA, "system:node:master-0", "system:nodes"), code: http.StatusCreated},
		"another node":                  {pair: person(w.clientCA, "system:node:master-1", "system:nodes"), code: http.StatusForbidden, reason: csr.RequesterNotAllowed},
		"named as the node, not in it":  {pair: person(w.clientCA, "system:node:master-0"), code: http.StatusForbidden, reason: csr.RequesterNotAllowed},
		"someone":                       {pair: person(w.clientCA, "someone", "system:masters"), code: http.StatusForbidden, reason: csr.RequesterNotAllowed},
		"serving certificate as client": {pair: w.leaf(w.clientCA, pki.Profile{CommonName: "x", Organizations: []string{csr.GroupBootstrappers}, Usages: []pki.Usage{pki.ServerAuth}}), code: 0},
		// The server does not list this CA, so the client sends no certificate.
		"certificate of a foreign CA": {pair: person(w.servingCA, "boss", csr.GroupBootstrappers), code: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			asked := object("auth-"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), ask(t, nodeKey(t), nil))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url(collection), bytes.NewReader(encode(t, asked)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			if tc.authorization != "" {
				request.Header.Set("Authorization", tc.authorization)
			}
			response, err := w.client(tc.pair).Do(request)
			if tc.code == 0 {
				// The handshake fails for every request.
				if err == nil {
					response.Body.Close()
					t.Fatalf("code %d, want no connection", response.StatusCode)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != tc.code {
				t.Errorf("code %d, want %d", response.StatusCode, tc.code)
			}
			if logged := w.lastDecision; tc.reason != "" && logged().Reason != tc.reason {
				t.Errorf("decisions.log ends with %+v, want the reason %s", logged(), tc.reason)
			}
		})
	}
}

// TestRequests covers malformed requests and unsupported paths and methods.
func TestRequests(t *testing.T) {
	w := newWorld(t, nil)
	sound := encode(t, object("sound", ask(t, nodeKey(t), nil)))
	contentType := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Content-Type", value) }
	}
	for name, tc := range map[string]struct {
		method, path string
		body         []byte
		edit         func(*http.Request)
		code         int
		reason       metav1.StatusReason
	}{
		"unknown path":         {method: http.MethodGet, path: "/api", code: http.StatusNotFound},
		"v1beta1":              {method: http.MethodPost, path: strings.Replace(collection, "v1", "v1beta1", 1), body: sound, code: http.StatusNotFound},
		"list":                 {method: http.MethodGet, path: collection, code: http.StatusMethodNotAllowed, reason: metav1.StatusReasonMethodNotAllowed},
		"watch of one":         {method: http.MethodGet, path: collection + "/x?watch=1", code: http.StatusMethodNotAllowed},
		"delete":               {method: http.MethodDelete, path: collection + "/x", code: http.StatusMethodNotAllowed},
		"update":               {method: http.MethodPut, path: collection + "/x", body: sound, code: http.StatusMethodNotAllowed},
		"unknown name":         {method: http.MethodGet, path: collection + "/x", code: http.StatusNotFound, reason: metav1.StatusReasonNotFound},
		"name that climbs":     {method: http.MethodGet, path: collection + "/..%2f..%2fca.key", code: http.StatusNotFound, reason: metav1.StatusReasonNotFound},
		"decisions are no CSR": {method: http.MethodGet, path: collection + "/decisions.log", code: http.StatusNotFound},
		"dry run":              {method: http.MethodPost, path: collection + "?dryRun=All", body: sound, code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest},
		"protobuf":             {method: http.MethodPost, path: collection, body: sound, edit: contentType("application/vnd.kubernetes.protobuf"), code: http.StatusUnprocessableEntity},
		"YAML":                 {method: http.MethodPost, path: collection, body: sound, edit: contentType("application/yaml"), code: http.StatusUnsupportedMediaType},
		"no content type":      {method: http.MethodPost, path: collection, body: sound, edit: contentType(""), code: http.StatusUnsupportedMediaType},
		"too large":            {method: http.MethodPost, path: collection, body: bytes.Repeat([]byte(" "), csr.MaxObjectBytes+1), code: http.StatusRequestEntityTooLarge},
		"no JSON":              {method: http.MethodPost, path: collection, body: []byte("{"), code: http.StatusUnprocessableEntity, reason: metav1.StatusReasonInvalid},
		"unknown field":        {method: http.MethodPost, path: collection, body: []byte(`{"spec":{"duration":"1h"}}`), code: http.StatusUnprocessableEntity, reason: metav1.StatusReasonInvalid},
		"doubled field":        {method: http.MethodPost, path: collection, body: []byte(`{"metadata":{"name":"a","name":"b"}}`), code: http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			response, data := w.call(tc.method, tc.path, tc.body, tc.edit)
			code, _, status := decode(t, response.StatusCode, data)
			if code != tc.code || (tc.reason != "" && status.Reason != tc.reason) {
				t.Errorf("%d %s, want %d %s", code, data, tc.code, tc.reason)
			}
		})
	}
	w.t = t
	w.checkStorage()
}

// TestNobodyReadsWithoutAuthentication covers every path but /readyz.
func TestNobodyReadsWithoutAuthentication(t *testing.T) {
	w := newWorld(t, nil)
	if code, _, status := w.post(object("secret", ask(t, nodeKey(t), func(*x509.CertificateRequest) {}))); code != http.StatusCreated {
		t.Fatal(code, status)
	}
	for _, path := range []string{"/", "/api", collection, collection + "/secret", collection + "/absent"} {
		response, data := w.callWith(w.client(nil), http.MethodGet, path, nil, nil)
		if response.StatusCode != http.StatusUnauthorized || bytes.Contains(data, []byte(certificatesv1.CertificateApproved)) {
			t.Errorf("GET %s: %d %s, want 401", path, response.StatusCode, data)
		}
	}
}
