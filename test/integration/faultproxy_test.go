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

// fault is what befalls one write.
type fault string

const (
	// noFault lets every write through.
	noFault fault = "no fault"
	// killedBefore and killedAfter are kill -9 of the controller when the write has arrived and when it is stored.
	killedBefore fault = "killed before write"
	killedAfter  fault = "killed after write"
	// conflicting answers 409, internalError 500; nothing is stored.
	conflicting   fault = "409 at write"
	internalError fault = "500 at write"
	// lostRequest breaks the connection with nothing stored, lostAnswer when the write is stored.
	lostRequest fault = "lost request of write"
	lostAnswer  fault = "lost answer to write"
)

// stores says whether the write that meets the fault is stored all the same.
func (f fault) stores() bool { return f == noFault || f == killedAfter || f == lostAnswer }

// kills says whether the fault ends the controller.
func (f fault) kills() bool { return f == killedBefore || f == killedAfter }

// faultProxy stands between one controller and kube-apiserver. It counts the controller's writes to Secrets, ConfigMaps and RotationRecords, or
// those of statuses, one at a time, and lets a fault befall one of them.
type faultProxy struct {
	plot

	// kill ends the controller and starts it anew. Its error is kept in failed.
	kill func() error

	forward *httputil.ReverseProxy
	server  *httptest.Server

	// life counts the kills, so that nothing is stored of what a dead controller has sent.
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
		// The end of a controller ends its watches; that is no news.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	out.server = httptest.NewUnstartedServer(out)
	// A controller that is killed in the middle of a handshake is no news either.
	out.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	out.server.StartTLS()
	t.Cleanup(out.server.Close)
	return out
}

// kubeconfig writes a file by which the controller reaches the proxy.
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

// counts says whether a request is one of the writes that are counted.
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

// write does one write and what is to befall it.
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

// refuse answers as kube-apiserver does: a create conflicts with an object of that name, an update with its version.
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

// written lists the writes so far, how many of them were stored, and what went wrong in the proxy itself.
func (p *faultProxy) written() (writes []string, stored int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes), p.stored, p.failed
}
