// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/csr"
)

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", s.serveReady) // HEAD too
	mux.Handle("POST "+collection, s.authenticated(s.serveCreate))
	mux.Handle("GET "+collection+"/{name}", s.authenticated(s.serveGet))
	mux.Handle(collection, s.authenticated(notAllowed))
	mux.Handle(collection+"/{name}", s.authenticated(notAllowed))
	mux.Handle("/", s.authenticated(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, apierrors.NewGenericServerResponse(http.StatusNotFound, "", resource, "", "the bootstrap signer serves "+collection+" only", 0, true))
	}))
	return mux
}

func (s *Server) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", s.serveReady)
	return mux
}

// authenticated answers 401 to unauthenticated clients, before it reads anything else of the request.
func (s *Server) authenticated(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		requester, ok := s.authenticate(r)
		if !ok {
			klog.FromContext(r.Context()).Info("Refused an unauthenticated request", "remote", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, apierrors.NewUnauthorized("a bootstrap token (Authorization: Bearer) or a client certificate is required, and the one given is not valid"))
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), requesterKey{}, requester)))
	})
}

func (s *Server) serveCreate(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	requester, _ := r.Context().Value(requesterKey{}).(csr.Requester)
	object, code, err := s.create(r.Context(), requester, body)
	if err != nil {
		writeError(w, err)
		return
	}
	responsewriters.WriteRawJSON(code, object, w)
}

func (s *Server) serveGet(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("watch") {
		notAllowed(w, r)
		return
	}
	name := r.PathValue("name")
	if csr.CheckName(name) != nil {
		writeError(w, apierrors.NewNotFound(resource, "with such a name"))
		return
	}
	object, err := s.store.get(name)
	switch {
	case err != nil:
		writeError(w, internal(r.Context(), err))
	case object == nil:
		writeError(w, apierrors.NewNotFound(resource, name))
	default:
		responsewriters.WriteRawJSON(http.StatusOK, object, w)
	}
}

func notAllowed(w http.ResponseWriter, r *http.Request) {
	status := apierrors.NewMethodNotSupported(resource, r.Method)
	status.ErrStatus.Message = "the bootstrap signer serves POST of a CertificateSigningRequest and GET of one only"
	writeError(w, status)
}

// serveReady answers ok if a valid request would be signed, as of the last check of the files (see watch). Any client
// may ask: the request reads and parses nothing, and errors are in the log, not in the answer.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !s.ready.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, string(metav1.StatusReasonServiceUnavailable))
		return
	}
	_, _ = io.WriteString(w, "ok")
}

type requesterKey struct{}

// authenticate returns the requester, or false. The handshake has verified the client certificate. A request with an
// invalid token is not authenticated, even with a valid client certificate.
func (s *Server) authenticate(r *http.Request) (csr.Requester, bool) {
	if authorization := r.Header.Get("Authorization"); authorization != "" {
		scheme, token, _ := strings.Cut(authorization, " ")
		if !strings.EqualFold(scheme, "Bearer") || s.files.options.TokenFile == "" {
			return csr.Requester{}, false
		}
		want, err := s.files.token()
		if err != nil {
			klog.FromContext(r.Context()).Error(err, "Cannot compare the bootstrap token")
			return csr.Requester{}, false
		}
		if !sameToken(want, []byte(token)) {
			return csr.Requester{}, false
		}
		return csr.Requester{Name: "system:bootstrap", Groups: []string{csr.GroupBootstrappers}}, true
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return csr.Requester{}, false
	}
	subject := r.TLS.PeerCertificates[0].Subject
	return csr.Requester{Name: subject.CommonName, Groups: subject.Organization}, true
}
