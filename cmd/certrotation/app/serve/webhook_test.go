// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"certrotation.dev/registry/pki"
)

// answers returns a handler that writes its name.
func answers(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
}

// unreadable is a request body that fails the test when read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, errors.New("the body is read")
}

func TestReviewsOnTheSecurePort(t *testing.T) {
	kubeAPIServer := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	for name, tt := range map[string]struct {
		path string
		user user.Info
		want string
	}{
		"kube-apiserver":                 {reviewPath, kubeAPIServer, "review"},
		"an administrator":               {reviewPath, &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}}, stranger + "\n"},
		"anonymous":                      {reviewPath, &user.DefaultInfo{Name: user.Anonymous}, stranger + "\n"},
		"nobody":                         {reviewPath, nil, stranger + "\n"},
		"something else of the API":      {"/apis/certrotation.dev/v1alpha1/bundlestatuses", kubeAPIServer, "API"},
		"what begins as the path does":   {reviewPath + "/x", kubeAPIServer, "API"},
		"the path of the other listener": {webhookPath, kubeAPIServer, "API"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, tt.path, unreadable{t})
			if tt.user != nil {
				r = r.WithContext(genericapirequest.WithUser(r.Context(), tt.user))
			}
			(&webhook{reviews: answers("review")}).before(answers("API")).ServeHTTP(w, r)
			if got := w.Body.String(); got != tt.want {
				t.Errorf("answer %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReviewsForClientCertificates(t *testing.T) {
	now := time.Now()
	authority := func(name string) *pki.Pair {
		ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Minute}, now)
		if err != nil {
			t.Fatal(err)
		}
		return ca
	}
	issue := func(ca *pki.Pair, name string, usage pki.Usage) *tls.Certificate {
		pair, err := ca.Issue(pki.Profile{CommonName: name, DNSNames: []string{"x"}, Usages: []pki.Usage{usage}, Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Minute}, now)
		if err != nil {
			t.Fatal(err)
		}
		key, err := pair.KeyPEM()
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := tls.X509KeyPair(pair.CertPEM(), key)
		if err != nil {
			t.Fatal(err)
		}
		return &certificate
	}
	ours, foreign := authority("ours"), authority("foreign")
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, ours.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	cas, err := dynamiccertificates.NewDynamicCAContentFromFile("test", file)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		names       []string
		certificate *tls.Certificate
		want        int
	}{
		"any of the CA":         {nil, issue(ours, "kube-apiserver", pki.ClientAuth), http.StatusOK},
		"the one that is named": {[]string{"kube-apiserver"}, issue(ours, "kube-apiserver", pki.ClientAuth), http.StatusOK},
		"another one":           {[]string{"kube-apiserver"}, issue(ours, "kubelet", pki.ClientAuth), http.StatusForbidden},
		"of another CA":         {nil, issue(foreign, "kube-apiserver", pki.ClientAuth), http.StatusUnauthorized},
		"of a server":           {nil, issue(ours, "kube-apiserver", pki.ServerAuth), http.StatusUnauthorized},
		"none":                  {nil, nil, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(certified(cas, tt.names, answers("review")))
			server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
			server.StartTLS()
			defer server.Close()
			client := server.Client()
			if tt.certificate != nil {
				client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*tt.certificate}
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "review", false: stranger + "\n"}[tt.want == http.StatusOK]; response.StatusCode != tt.want || string(body) != want {
				t.Errorf("status %d with %q, want %d with %q", response.StatusCode, body, tt.want, want)
			}
		})
	}
}
