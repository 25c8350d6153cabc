// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const (
	home       = "demo"
	secretName = "prod-kubeconfig"
	token      = "canary-token-of-the-kubeconfig"
)

// world is the API server with the kubeconfigs, and one other cluster.
type world struct {
	t        *testing.T
	api      *apifake.Server
	clock    *testclock.FakeClock
	server   *httptest.Server
	clusters *Clusters
	// answer is what the other cluster answers. down is set while it cannot be reached. asked counts its requests.
	answer http.HandlerFunc
	down   atomic.Bool
	asked  atomic.Int32
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: testclock.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), answer: namespaceOf}
	w.api = apifake.New(t, w.clock)
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer "+token {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.answer(rw, r)
	}))
	t.Cleanup(func() {
		w.clusters.Keep(home, func(string) bool { return false })
		w.server.Close()
	})
	w.make(netip.MustParsePrefix("127.0.0.0/8"))
	return w
}

// make makes the clients anew; they dial reserved addresses only if allowed.
func (w *world) make(allowed ...netip.Prefix) {
	w.t.Helper()
	dialer := dial.New(allowed, nil)
	var err error
	if w.clusters, err = New(Config{Client: w.api.Client, Clock: w.clock, Retries: 1, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if w.down.Load() {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return dialer.DialContext(ctx, network, address)
	}}); err != nil {
		w.t.Fatal(err)
	}
}

// namespaceOf answers each request with a Namespace.
func namespaceOf(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.URL.Path}})
}

// kubeconfig is one with a token for the other cluster.
func (w *world) kubeconfig(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	w.t.Helper()
	config := clientcmdapi.NewConfig()
	cluster, user := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server, user.Token = w.server.URL, token
	cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	if change != nil {
		change(cluster, user)
	}
	config.Clusters["c"], config.AuthInfos["u"], config.CurrentContext = cluster, user, "x"
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	text, err := clientcmd.Write(*config)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// put stores the Secret, and returns the cluster as the inventory has it then.
func (w *world) put(kubeconfig []byte, consent string) *inventory.Cluster {
	w.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: secretName, Annotations: map[string]string{trust.AnnotationConfiguration: consent}},
		Data:       map[string][]byte{KubeconfigKey: kubeconfig},
	}
	if err := w.api.Put(secret); err != nil {
		w.t.Fatal(err)
	}
	stored, _ := apifake.Get(w.api, secret)
	return &inventory.Cluster{Name: "prod", Configuration: "config", SecretName: secretName, Version: stored.ResourceVersion}
}

// get reads a Namespace of the other cluster.
func (w *world) get(of *inventory.Cluster) error {
	client, err := w.clusters.Client(w.t.Context(), home, of)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(w.t.Context(), "there", metav1.GetOptions{})
	return err
}

func TestKubeconfigsAreRefusedByName(t *testing.T) {
	w := newWorld(t)
	with := func(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte { return w.kubeconfig(change) }
	for _, tc := range []struct {
		name       string
		kubeconfig []byte
		says       string
	}{
		{"a program", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		}), "has the field exec,"},
		{"a provider", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		}), "has the field auth-provider,"},
		{"a file with the token", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/var/run/token" }), "has the field tokenFile,"},
		{"a file with the key", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = "/key" }), "has the field client-key,"},
		{"a file with the certificate", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/crt" }), "has the field client-certificate,"},
		{"a file with the CA", with(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = "/ca" }), "has the field certificate-authority,"},
		{"a proxy", with(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://proxy" }), "has the field proxy-url,"},
		{"no verification", with(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, nil
		}), "has the field insecure-skip-tls-verify,"},
		{"a user's name", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Username = token }), "has the field username,"},
		{"a password", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Password = token }), "has the field password,"},
		{"another user", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Impersonate = token }), "has the field as,"},
		{"other groups", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ImpersonateGroups = []string{token} }), "has the field as-groups,"},
		{"no TLS", with(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "http://" + token }), "not of the form https://"},
		{"a password in the server", with(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://me:" + token + "@there" }), "not of the form https://"},
		{"no credentials", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "" }), "neither a token nor a client certificate"},
		{"a key that cannot be read", with(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = []byte(token), []byte(token)
		}), "cannot be read"},
		{"no YAML", []byte("- " + token + ": ["), "is no kubeconfig"},
		{"something else", []byte("token: " + token), "has no current-context"},
		{"too much", bytes.Repeat([]byte("#"), maxKubeconfig+1), "is longer than"},
		{"nothing", nil, "has no key kubeconfig"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := w.get(w.put(tc.kubeconfig, "config"))
			if unusable, ok := errors.AsType[*UnusableError](err); !ok || !strings.Contains(unusable.Text, tc.says) {
				t.Errorf("got %v, want an UnusableError that says %q", err, tc.says)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), token) {
				t.Errorf("the error has what the kubeconfig has: %v", err)
			}
		})
	}
	if w.asked.Load() > 0 {
		t.Error("a server was asked")
	}
}

func TestConsentOfTheSecret(t *testing.T) {
	w := newWorld(t)
	if err := w.get(&inventory.Cluster{Name: "prod", Configuration: "config", SecretName: secretName}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("without a Secret: %v", err)
	}
	if err := w.get(w.put(w.kubeconfig(nil), "other")); err == nil || !strings.Contains(err.Error(), "does not say that it may be used") {
		t.Errorf("without consent: %v", err)
	}
	if err := w.get(w.put(w.kubeconfig(nil), "config")); err != nil {
		t.Errorf("with consent: %v", err)
	}
	if err := w.get(w.put(w.kubeconfig(nil), "")); err == nil {
		t.Error("with a consent that is withdrawn there is a client")
	}
}

func TestClientFollowsTheSecret(t *testing.T) {
	w := newWorld(t)
	client := func(of *inventory.Cluster) kubernetes.Interface {
		client, err := w.clusters.Client(t.Context(), home, of)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	of := w.put(w.kubeconfig(nil), "config")
	first := client(of)
	w.api.ForgetActions()
	if client(of) != first || len(w.api.Actions()) > 0 {
		t.Error("a client is made anew, or the Secret read, without a change")
	}
	outdated := *of
	of = w.put(w.kubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.TLSServerName = "example.com" }), "config")
	second := client(of)
	if second == first || client(&outdated) != second {
		t.Error("the client does not follow its Secret")
	}
	w.clusters.Keep("other", func(string) bool { return false })
	w.clusters.Keep(home, func(cluster string) bool { return cluster == "prod" })
	if client(of) != second {
		t.Error("a client is dropped that is needed")
	}
	w.clusters.Keep(home, func(string) bool { return false })
	if client(of) == second {
		t.Error("a client is kept that nothing needs")
	}
}

// TestSilence: a cluster that does not answer is left alone for a growing time, and answers again without a person.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	of := w.put(w.kubeconfig(nil), "config")
	w.down.Store(true)
	first := SilentOf(w.get(of))
	if first == nil || first.Error() != "cluster prod does not answer since 2026-05-01T12:00:00Z: "+
		"no server that its kubeconfig trusts answers in time; the log of the controller has the cause" {
		t.Fatalf("got %v", first)
	}
	var pauses []time.Duration
	for range 9 {
		before := w.clock.Now()
		w.clock.Step(SilentOf(w.get(of)).Until.Sub(before))
		pauses = append(pauses, w.clock.Since(before))
		if again := SilentOf(w.get(of)); again == nil || again.Error() != first.Error() {
			t.Fatalf("said %v, and then %v", first, again)
		}
	}
	if pauses[0] != FirstPause || pauses[1] != 2*FirstPause || pauses[8] != LastPause {
		t.Errorf("pauses %v", pauses)
	}
	if counts := w.clusters.Silent(); counts[home] != 1 {
		t.Errorf("silent clusters %v", counts)
	}
	w.down.Store(false)
	if err := w.get(of); SilentOf(err) == nil || w.asked.Load() > 0 {
		t.Errorf("asked %d times during the pause: %v", w.asked.Load(), err)
	}
	w.clock.Step(LastPause)
	w.clusters.retries <- struct{}{}
	if err := w.get(of); SilentOf(err) == nil {
		t.Errorf("asked although enough silent clusters are: %v", err)
	}
	<-w.clusters.retries
	if err := w.get(of); err != nil || w.clusters.Silent()[home] != 0 {
		t.Errorf("when it answers again: %v", err)
	}
}

// TestAnswersOfOthers: what a server says is not shown, is bounded, and leads to no other server.
func TestAnswersOfOthers(t *testing.T) {
	const said = "what an internal server says"
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		is     func(error) bool
	}{
		{"forbidden", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, said, http.StatusForbidden) }, apierrors.IsForbidden},
		{"not found", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, said, http.StatusNotFound) }, apierrors.IsNotFound},
		{"a conflict", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, said, http.StatusConflict) }, apierrors.IsConflict},
		{"a failure that asks to wait", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "3600")
			http.Error(rw, said, http.StatusServiceUnavailable)
		}, apierrors.IsServiceUnavailable},
		{"a redirect", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/"+token, http.StatusFound) },
			func(err error) bool { return err != nil && !strings.Contains(err.Error(), token) }},
		{"too much", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write(bytes.Repeat([]byte(" "), maxAnswer+1))
		}, func(err error) bool { return SilentOf(err) != nil }},
		{"half an answer", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100")
			_, _ = rw.Write([]byte("{"))
		}, func(err error) bool { return SilentOf(err) != nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = tc.answer
			err := w.get(w.put(w.kubeconfig(nil), "config"))
			if !tc.is(err) || strings.Contains(err.Error(), said) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("got %v", err)
			}
			if w.asked.Load() != 1 {
				t.Errorf("asked %d times", w.asked.Load())
			}
		})
	}
}

func TestAddressesAreJudged(t *testing.T) {
	w := newWorld(t)
	w.make()
	if err := SilentOf(w.get(w.put(w.kubeconfig(nil), "config"))); err == nil || !strings.Contains(err.Cause, "is not dialled: it is loopback") {
		t.Errorf("got %v", err)
	}
}

// TestServerIsVerified: a server with another certificate gets no token.
func TestServerIsVerified(t *testing.T) {
	w := newWorld(t)
	of := w.put(w.kubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.TLSServerName = "another.example" }), "config")
	if err := SilentOf(w.get(of)); err == nil || w.asked.Load() > 0 {
		t.Errorf("got %v, asked %d times", err, w.asked.Load())
	}
}

// TestCallerGivesUp: that says nothing about the cluster.
func TestCallerGivesUp(t *testing.T) {
	w := newWorld(t)
	client, err := w.clusters.Client(t.Context(), home, w.put(w.kubeconfig(nil), "config"))
	if err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := client.CoreV1().Namespaces().Get(over, "there", metav1.GetOptions{}); !errors.Is(err, context.Canceled) || w.clusters.Silent()[home] != 0 {
		t.Errorf("got %v", err)
	}
}

func TestNewWantsItsParts(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error")
	}
}
