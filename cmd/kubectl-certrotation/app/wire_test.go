// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const collection = "/apis/certrotation.dev/v1alpha1/namespaces/demo/certificaterotations"

// script answers each watch in turn over HTTP. It stores no objects.
type script struct {
	t *testing.T

	mu sync.Mutex
	// watches answer the watch requests in order. The last one answers all later requests.
	watches []func(*stream)
	// selectors of the watches and lists, in order.
	selectors []string
}

// stream is one watch response.
type stream struct {
	w http.ResponseWriter
	r *http.Request
}

func (a *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost && r.URL.Path == collection+"/service-signer/rotate":
		encode(w, &v1alpha1.RotationPlan{TypeMeta: kind("RotationPlan"), Target: "service-signer", Hash: "00", Steps: plan().Steps})
	case r.URL.Path == collection+"/service-signer":
		encode(w, versionedAt(signer(), 1))
	case r.URL.Path == collection && query.Get("watch") != "":
		a.next(query.Get("fieldSelector"))(&stream{w: w, r: r})
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

func (a *script) next(selector string) func(*stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.selectors = append(a.selectors, selector)
	if len(a.watches) == 0 {
		a.t.Error("more watches than the script has")
		return func(*stream) {}
	}
	next := a.watches[0]
	a.watches = a.watches[1:]
	return next
}

// initial sends the objects of a streaming list and the bookmark that ends it.
func (s *stream) initial(revision int, objects ...*v1alpha1.CertificateRotation) {
	for _, o := range objects {
		s.send("ADDED", versionedAt(o, revision))
	}
	mark := &v1alpha1.CertificateRotation{TypeMeta: kind("CertificateRotation")}
	mark.ResourceVersion = strconv.Itoa(revision)
	mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	s.send("BOOKMARK", mark)
}

func (s *stream) send(event string, object runtime.Object) {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	encode(s.w, metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: raw}})
	s.w.(http.Flusher).Flush()
}

func encode(w http.ResponseWriter, value any) {
	// Ignore the error: some scripts close the connection.
	_ = json.NewEncoder(w).Encode(value)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: name}
}

func versionedAt(o *v1alpha1.CertificateRotation, revision int) *v1alpha1.CertificateRotation {
	o.TypeMeta = kind("CertificateRotation")
	o.ResourceVersion = strconv.Itoa(revision)
	return o
}

func gone() *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "the resource version is of another epoch",
	}
}

// remote returns a shell whose client is made from kubectl's flags.
func remote(t *testing.T) *shell {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	s := newShell(t)
	s.api, s.clock = nil, clock.RealClock{}
	return s
}

// TestWaitOverTheWire covers a connection that breaks, then a 410 as the answer to a watch. At the end the server
// restarts and sends a 410 inside a watch.
func TestWaitOverTheWire(t *testing.T) {
	a := &script{t: t, watches: []func(*stream){
		func(s *stream) {
			s.initial(10, signer())
			s.send("MODIFIED", versionedAt(signer(distributing), 11))
			panic(http.ErrAbortHandler)
		},
		func(s *stream) {
			s.w.WriteHeader(http.StatusGone)
			encode(s.w, gone())
		},
		func(s *stream) {
			s.initial(1<<24, signer(inStage(v1alpha1.StageReissuing), promoted), leaf("service-server", oldCA))
			s.send("ERROR", gone())
		},
		func(s *stream) {
			s.initial(2<<24, signer(promoted), leaf("service-server", newCA))
			<-s.r.Context().Done()
		},
	}}
	server := httptest.NewServer(a)
	defer server.Close()
	s := remote(t)
	got := s.ok(t, "--server", server.URL, "rotate", "service-signer", "--wait", "--timeout", "1m")
	for _, want := range []string{
		"demo/service-signer Distributing: trusted 2/3",
		"demo/service-signer Reissuing: trusted 3/3; leaves moved 0/1",
		"demo/service-signer is rotated after",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	want := []string{"spec.signer=service-signer", "spec.signer=service-signer", "spec.signer=service-signer", "spec.signer=service-signer"}
	if diff := cmp.Diff(want, a.selectors); diff != "" {
		t.Errorf("field selectors (-want +got):\n%s", diff)
	}
}

func TestErrorsOverTheWire(t *testing.T) {
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
	}))
	defer down.Close()
	tests := []struct{ name, server, want string }{
		{"nothing listens", "http://127.0.0.1:1", "Is the API server running"},
		{"the API is not installed", missing.URL, "the API certrotation.dev/v1alpha1 is not served by this cluster\nLook at: kubectl get apiservice v1alpha1.certrotation.dev"},
		{"the API is down", down.URL, "kubectl get apiservice v1alpha1.certrotation.dev"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, line := range []string{"tree", "tree service-signer", "plan service-signer", "wait service-signer"} {
				s := remote(t)
				if code := s.run(t.Context(), append([]string{"--server", tt.server}, strings.Fields(line)...)...); code != 1 {
					t.Errorf("%s: exit code %d, want 1", line, code)
				}
				if got := s.errOut.String(); !strings.Contains(got, tt.want) {
					t.Errorf("%s: no %q in:\n%s", line, tt.want, got)
				}
			}
		})
	}
}

func TestTreeSelectsOneDomain(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		asked = append(asked, fmt.Sprintf("%s %s %s", r.Method, strings.TrimPrefix(r.URL.Path, "/apis/certrotation.dev/v1alpha1/namespaces/demo/"), r.URL.Query().Get("fieldSelector")))
		switch r.URL.Path {
		case collection + "/service-server":
			encode(w, versionedAt(leaf("service-server", oldCA), 1))
		case collection:
			encode(w, &v1alpha1.CertificateRotationList{TypeMeta: kind("CertificateRotationList"), Items: []v1alpha1.CertificateRotation{*signer(), *leaf("service-server", oldCA)}})
		default:
			encode(w, &v1alpha1.BundleStatusList{TypeMeta: kind("BundleStatusList"), Items: []v1alpha1.BundleStatus{*bundle()}})
		}
	}))
	defer server.Close()
	if got := remote(t).ok(t, "--server", server.URL, "tree", "service-server"); !strings.HasPrefix(got, "demo/service  Stable\n") {
		t.Errorf("printed:\n%s", got)
	}
	want := []string{
		"GET certificaterotations/service-server ",
		"GET certificaterotations spec.signer=service-signer",
		"GET bundlestatuses spec.signer=service-signer",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
