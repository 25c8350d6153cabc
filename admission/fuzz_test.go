// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// FuzzReview posts arbitrary bodies. The guard must not panic, must read no live state for what it cannot decode,
// and must answer every decoded review under its own UID.
func FuzzReview(f *testing.F) {
	w := newWorld(f).distribute()
	server := w.secrets["service-server"]
	for _, req := range []*admissionv1.AdmissionRequest{
		request(f, server, w.leaf("service-server", w.foreign)),
		request(f, server, nil),
		request(f, w.configMaps["service-ca-bundle"], nil),
		request(f, nil, w.config),
		request(f, nil, evidenceOf(w.clone().observe(w.active))),
		nil,
	} {
		f.Add(reviewOf(f, req))
	}
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x"}}`))
	f.Add([]byte(`{`))
	h := newHandler(f, viewOf(w), namespaceOf(false))

	f.Fuzz(func(t *testing.T, body []byte) {
		recorder := post(h, bytes.NewReader(body))
		switch recorder.Code {
		case http.StatusBadRequest, http.StatusServiceUnavailable:
			return
		case http.StatusOK:
		default:
			t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
		}
		var sent, answered admissionv1.AdmissionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
			t.Fatalf("answer is no review: %v", err)
		}
		if answered.Response == nil || answered.Response.UID == "" {
			t.Fatalf("answer without UID: %s", recorder.Body)
		}
		if err := json.Unmarshal(body, &sent); err == nil && sent.Request != nil && sent.Request.UID != answered.Response.UID {
			t.Fatalf("asked as %q, answered as %q", sent.Request.UID, answered.Response.UID)
		}
	})
}
