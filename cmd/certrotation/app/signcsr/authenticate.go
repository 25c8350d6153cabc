// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"net/http"
	"strings"

	"k8s.io/klog/v2"

	"certrotation.dev/registry/csr"
)

// requesterKey is the key of the requester in the context of a request.
type requesterKey struct{}

// authenticate returns who asks, false if that is not known. A client certificate was verified in the handshake. A token
// that is wrong is not made good by a certificate: whoever sends one means it.
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
