// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/test/apifake"
)

// post sends a body to the handler and returns the recorded response.
func post(h http.Handler, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/validate?timeout=3s", body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func reviewOf(t testing.TB, req *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req,
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestServeHTTP(t *testing.T) {
	w := newWorld(t)
	server := w.secrets["service-server"]
	sound := string(reviewOf(t, request(t, server, w.leaf("service-server", w.active))))
	withoutOld := request(t, server, server)
	withoutOld.OldObject.Raw = nil
	scalar := request(t, server, server)
	scalar.Object.Raw = []byte(`"c2VjcmV0"`)

	for _, tc := range []struct {
		name, method, contentType string
		view                      *view
		body                      io.Reader
		want                      int
	}{
		{name: "sound", body: strings.NewReader(sound), want: http.StatusOK},
		{name: "with a charset", contentType: "application/json; charset=utf-8", body: strings.NewReader(sound), want: http.StatusOK},
		{name: "get", method: http.MethodGet, body: http.NoBody, want: http.StatusMethodNotAllowed},
		{name: "protobuf", contentType: "application/vnd.kubernetes.protobuf", body: strings.NewReader(sound), want: http.StatusUnsupportedMediaType},
		{name: "no content type", contentType: " ", body: strings.NewReader(sound), want: http.StatusUnsupportedMediaType},
		{name: "not synced", view: &view{unsynced: true}, body: strings.NewReader(sound), want: http.StatusServiceUnavailable},
		{name: "empty", body: http.NoBody, want: http.StatusBadRequest},
		{name: "no JSON", body: strings.NewReader("{"), want: http.StatusBadRequest},
		{name: "two documents", body: strings.NewReader(sound + sound), want: http.StatusBadRequest},
		{name: "old version", body: strings.NewReader(strings.Replace(sound, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1)), want: http.StatusBadRequest},
		{name: "other kind", body: strings.NewReader(strings.Replace(sound, "AdmissionReview", "Status", 1)), want: http.StatusBadRequest},
		{name: "misspelt field", body: strings.NewReader(strings.Replace(sound, `"request"`, `"Request"`, 1)), want: http.StatusBadRequest},
		{name: "no request", body: bytes.NewReader(reviewOf(t, nil)), want: http.StatusBadRequest},
		{name: "no UID", body: strings.NewReader(strings.Replace(sound, "review-1", "", 1)), want: http.StatusBadRequest},
		{name: "update without an old object", body: bytes.NewReader(reviewOf(t, withoutOld)), want: http.StatusBadRequest},
		{name: "object that is none", body: bytes.NewReader(reviewOf(t, scalar)), want: http.StatusBadRequest},
		{name: "as large as allowed", body: io.MultiReader(strings.NewReader(sound), spaces(maxBodyBytes-len(sound))), want: http.StatusOK},
		{name: "too large", body: io.MultiReader(strings.NewReader(sound), spaces(maxBodyBytes-len(sound)+1)), want: http.StatusRequestEntityTooLarge},
		{name: "cut off", body: iotest.ErrReader(io.ErrUnexpectedEOF), want: http.StatusBadRequest},
		{name: "loss that cannot be confirmed", view: &view{cached: w.sources()}, body: bytes.NewReader(reviewOf(t, request(t, server, nil))), want: http.StatusServiceUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := tc.view
			if v == nil {
				v = viewOf(w)
			}
			r := httptest.NewRequest(http.MethodPost, "/validate", tc.body)
			if tc.method != "" {
				r.Method = tc.method
			}
			r.Header.Set("Content-Type", "application/json")
			if tc.contentType != "" {
				r.Header.Set("Content-Type", strings.TrimSpace(tc.contentType))
			}
			recorder := httptest.NewRecorder()
			newHandler(t, v, namespaceOf(false)).ServeHTTP(recorder, r)
			if recorder.Code != tc.want {
				t.Errorf("status %d, want %d: %s", recorder.Code, tc.want, recorder.Body)
			}
			if tc.want != http.StatusOK && len(recorder.Body.String()) > 120 {
				t.Errorf("the error quotes the request: %s", recorder.Body)
			}
		})
	}
}

func spaces(n int) io.Reader { return bytes.NewReader(bytes.Repeat([]byte(" "), n)) }

func TestAnswerEchoesTheUID(t *testing.T) {
	w := newWorld(t)
	req := request(t, w.secrets["service-server"], w.leaf("service-server", w.foreign))
	req.UID = "9c1b6a0e-0d8f-4c8e-8e0e-3c1f0a2b4c6d"
	recorder := post(newHandler(t, viewOf(w)), bytes.NewReader(reviewOf(t, req)))
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(recorder.Body.Bytes(), review); err != nil {
		t.Fatal(err)
	}
	if review.Kind != "AdmissionReview" || review.APIVersion != "admission.k8s.io/v1" || review.Request != nil {
		t.Errorf("answer is %s %s with request %v", review.APIVersion, review.Kind, review.Request)
	}
	if review.Response.UID != req.UID || review.Response.Allowed {
		t.Errorf("answer %+v", review.Response)
	}
}

// TestAnswersHoldNoKey: a denial must not contain any part of a private key.
func TestAnswersHoldNoKey(t *testing.T) {
	w := newWorld(t)
	server := w.secrets["service-server"]
	for name, change := range map[string]func(*corev1.Secret){
		"foreign leaf": func(s *corev1.Secret) { s.Data = w.leaf("service-server", w.foreign).Data },
		"keys swapped": func(s *corev1.Secret) {
			s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = s.Data[corev1.TLSPrivateKeyKey], s.Data[corev1.TLSCertKey]
		},
		"no PEM": func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = []byte("hunter2-hunter2") },
	} {
		t.Run(name, func(t *testing.T) {
			changed := edited(server, change)
			body := post(newHandler(t, viewOf(w)), bytes.NewReader(reviewOf(t, request(t, server, changed)))).Body.String()
			if !strings.Contains(body, `"allowed":false`) {
				t.Errorf("not denied: %s", body)
			}
			for _, data := range []map[string][]byte{server.Data, changed.Data} {
				for line := range strings.SplitSeq(string(data[corev1.TLSPrivateKeyKey]), "\n") {
					if len(line) > 0 && !strings.HasPrefix(line, "-----") && strings.Contains(body, line) {
						t.Errorf("the answer holds a line of a key: %s", body)
					}
				}
			}
			if strings.Contains(body, "hunter2") {
				t.Errorf("the answer quotes Secret data: %s", body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	registry := metrics.NewKubeRegistry()
	cfg := Config{Inventory: viewOf(w), Client: apifake.New(t, clocktesting.NewFakePassiveClock(now), namespaceOf(false)).Client, Clock: clocktesting.NewFakePassiveClock(now), Register: registry.Register}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := w.secrets["service-server"]
	dryRun := request(t, server, w.leaf("service-server", w.foreign))
	dryRun.DryRun = new(true)
	odd := request(t, server, server)
	odd.Operation, odd.Resource.Resource = "CONNECT\xff", "pods"
	for _, req := range []*admissionv1.AdmissionRequest{dryRun, request(t, server, nil), request(t, server, server), odd} {
		post(h, bytes.NewReader(reviewOf(t, req)))
	}
	post(h, strings.NewReader("{"))

	const want = `
# HELP certrotation_admission_live_checks_total [ALPHA] Number of reviews that were checked against live reads, by result (ok, error).
# TYPE certrotation_admission_live_checks_total counter
certrotation_admission_live_checks_total{result="ok"} 2
# HELP certrotation_admission_reviews_total [ALPHA] Number of admission reviews by resource, operation, decision (allow, deny, error) and whether it was a dry run.
# TYPE certrotation_admission_reviews_total counter
certrotation_admission_reviews_total{decision="allow",dry_run="false",operation="delete",resource="secrets"} 1
certrotation_admission_reviews_total{decision="allow",dry_run="false",operation="other",resource="other"} 1
certrotation_admission_reviews_total{decision="allow",dry_run="false",operation="update",resource="secrets"} 1
certrotation_admission_reviews_total{decision="deny",dry_run="true",operation="update",resource="secrets"} 1
certrotation_admission_reviews_total{decision="error",dry_run="false",operation="unknown",resource="unknown"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "certrotation_admission_reviews_total", "certrotation_admission_live_checks_total"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if n := len(family.GetMetric()); family.GetName() == "certrotation_admission_review_duration_seconds" && n != 4 {
			t.Errorf("%d series of durations, want 4", n)
		}
	}
	if _, err := New(cfg); err == nil {
		t.Error("a second Handler registered the same metrics")
	}
}

func TestNewRequiresInventory(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Inventory") {
		t.Errorf("error %v", err)
	}
}
