// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// fault is what happens to one write.
type fault string

const (
	// noFault lets every write through.
	noFault fault = "no fault"
	// killedBefore and killedAfter kill the controller with kill -9: when the write arrives, or after it is
	// stored.
	killedBefore fault = "killed before write"
	killedAfter  fault = "killed after write"
	// conflicting answers 409, internalError 500. Nothing is stored.
	conflicting   fault = "409 at write"
	internalError fault = "500 at write"
	// lostRequest closes the connection without storing the write, lostAnswer after storing it.
	lostRequest fault = "lost request of write"
	lostAnswer  fault = "lost answer to write"
)

// stores reports whether a write that meets the fault is stored.
func (f fault) stores() bool { return f == noFault || f == killedAfter || f == lostAnswer }

// kills reports whether the fault kills the controller.
func (f fault) kills() bool { return f == killedBefore || f == killedAfter }

// faultProxy is a proxy between one controller and kube-apiserver. It serializes and counts the controller's
// writes to Secrets, ConfigMaps and RotationRecords, or those to statuses. It injects a fault into one of them.
type faultProxy struct {
	plot

	// kill kills and restarts the controller. Its error is kept in failed.
	kill func() error

	forward *httputil.ReverseProxy
	server  *httptest.Server

	// life counts the kills, so that no request of a killed controller is stored.
	life atomic.Int32

	mu     sync.Mutex
	writes []string
	// stored is how many of the writes kube-apiserver has accepted.
	stored int
	failed error
}

// newFaultProxy listens until the end of the test.
func newFaultProxy(t *testing.T, upstream *rest.Config, p plot) *faultProxy {
	t.Helper()
	target, err := url.Parse(upstream.Host)
	if err != nil {
		t.Fatal(err)
	}
	out := &faultProxy{plot: p}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	out.forward = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// The watches of a killed controller end. That is no error.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	out.server = httptest.NewUnstartedServer(out)
	// A controller may be killed during a handshake. That is no error.
	out.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	out.server.StartTLS()
	t.Cleanup(out.server.Close)
	return out
}

// kubeconfig writes a kubeconfig with which the controller reaches the proxy.
func (p *faultProxy) kubeconfig(t *testing.T, dir string) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	file.Clusters["proxy"] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: ca}
	file.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	file.CurrentContext = "proxy"
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

const configGroup = "/apis/config.certrotation.dev/v1alpha1"

var (
	writtenPath = regexp.MustCompile(`^(/api/v1|` + configGroup + `)/namespaces/[^/]+/(secrets|configmaps|rotationrecords)(/[^/]+)?$`)
	statusPath  = regexp.MustCompile(`^` + configGroup + `/namespaces/[^/]+/rotationconfigurations/[^/]+/status$`)
)

// counts reports whether a request is a counted write.
func (p *faultProxy) counts(r *http.Request) bool {
	counted := writtenPath
	if p.statuses {
		counted = statusPath
	}
	return r.Method != http.MethodGet && counted.MatchString(r.URL.Path)
}

// ServeHTTP implements http.Handler.
func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.counts(r) {
		p.forward.ServeHTTP(w, r)
		return
	}
	life := p.life.Load()
	body, err := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || life != p.life.Load() {
		hangUp(w)
		return
	}
	p.writes = append(p.writes, r.Method+" "+r.URL.Path)
	met := noFault
	if len(p.writes) == p.at {
		met = p.fault
	}
	if err := p.write(w, r, body, met); err != nil {
		p.failed = errors.Join(p.failed, err)
		hangUp(w)
	}
}

// write forwards one write, and injects the fault.
func (p *faultProxy) write(w http.ResponseWriter, r *http.Request, body []byte, met fault) error {
	var answer *http.Response
	if met.stores() {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		recorder := httptest.NewRecorder()
		p.forward.ServeHTTP(recorder, r)
		answer = recorder.Result()
		defer answer.Body.Close()
		if answer.StatusCode < http.StatusMultipleChoices {
			p.stored++
		}
		if met != noFault && answer.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("the write that %q was to befall is refused with %s", met, answer.Status)
		}
	}
	switch met {
	case noFault:
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, err := io.Copy(w, answer.Body)
		return err
	case conflicting, internalError:
		return refuse(w, r, met)
	case killedBefore, killedAfter:
		p.life.Add(1)
		if err := p.kill(); err != nil {
			return err
		}
	case lostRequest, lostAnswer:
	}
	hangUp(w)
	return nil
}

// refuse answers like kube-apiserver: a create conflicts with an existing object, an update with a newer version.
func refuse(w http.ResponseWriter, r *http.Request, met fault) error {
	resource := schema.GroupResource{Resource: "objects"}
	refusal := apierrors.NewInternalError(errors.New("injected"))
	switch {
	case met == conflicting && r.Method == http.MethodPost:
		refusal = apierrors.NewAlreadyExists(resource, "injected")
	case met == conflicting:
		refusal = apierrors.NewConflict(resource, "injected", errors.New("injected"))
	}
	refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(refusal.ErrStatus.Code))
	return json.NewEncoder(w).Encode(refusal.ErrStatus)
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close() // The peer may be dead already.
	}
}

// written returns the writes so far, how many of them were stored, and the errors of the proxy itself.
func (p *faultProxy) written() (writes []string, stored int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes), p.stored, p.failed
}
