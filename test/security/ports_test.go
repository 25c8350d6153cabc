// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"certrotation.dev/test/cluster/installation"
)

// serveAccount is the user of serve. Requests of the controller do not count: it works in the namespaces meanwhile.
const serveAccount = "system:serviceaccount:" + installation.Namespace + ":certrotation-serve"

// ofAnyServer returns a client of processes at their own ports, whatever their certificates are.
func ofAnyServer() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// attackPorts asks both processes, at their own ports and without credentials, what they know of a namespace.
func attackPorts(t *testing.T, w *world) string {
	namespace := w.honest(t)
	before := len(w.audit.requests(t))
	review := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE",
		"kind":{"group":"","version":"v1","kind":"Secret"},"resource":{"group":"","version":"v1","resource":"secrets"},
		"namespace":%q,"name":"pki-server","oldObject":{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/tls","metadata":{"name":"pki-server","namespace":%q}}}}`,
		namespace, namespace)
	client := ofAnyServer()
	type question struct{ method, url, body string }
	var questions []question
	for _, url := range w.serve(t) {
		questions = append(questions,
			question{http.MethodGet, url + "/apis/certrotation.dev/v1alpha1/namespaces/" + namespace + "/certificaterotations", ""},
			question{http.MethodGet, url + "/metrics", ""},
			question{http.MethodGet, url + "/debug/pprof/heap", ""},
			question{http.MethodPost, url + "/apis/certrotation.dev/v1alpha1/reviews", review},
			question{http.MethodPost, url + "/validate", review})
	}
	for _, url := range w.controller(t) {
		questions = append(questions, question{http.MethodGet, url + "/metrics", ""}, question{http.MethodGet, url + "/readyz?verbose", ""})
	}
	for _, ask := range questions {
		request, err := http.NewRequestWithContext(t.Context(), ask.method, ask.url, bytes.NewBufferString(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		// The answer may repeat the question, and nothing else.
		told := strings.ReplaceAll(strings.ReplaceAll(string(body), namespace, ""), "pki-server", "")
		if strings.Contains(told, "pki") {
			return fmt.Sprintf("%s %s tells a name: %s", ask.method, ask.url, body)
		}
	}
	for _, event := range w.audit.requests(t)[before:] {
		asked := event.RequestObject != nil && strings.Contains(string(event.RequestObject.Raw), user.Anonymous)
		if asked || event.User.Username == serveAccount && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace {
			return fmt.Sprintf("it caused the request %s %s", event.Verb, event.RequestURI)
		}
	}
	return ""
}
