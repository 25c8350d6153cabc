// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	kjson "sigs.k8s.io/json"
)

// maxBodyBytes fits an UPDATE of the largest Secret: old and new object, each base64 in JSON, with managed fields.
const maxBodyBytes = 8 << 20

// Transport errors. Their texts go to the caller and never quote the request.
var (
	errMethod      = &httpError{http.StatusMethodNotAllowed, "only POST is served here"}
	errContentType = &httpError{http.StatusUnsupportedMediaType, "the content type must be application/json"}
	errBusy        = &httpError{http.StatusTooManyRequests, "too many reviews at a time, try again"}
	errTooLarge    = &httpError{http.StatusRequestEntityTooLarge, "the review is larger than 8 MiB"}
	errBody        = &httpError{http.StatusBadRequest, "the body could not be read"}
	errReview      = &httpError{http.StatusBadRequest, "the body is not a request of an AdmissionReview of admission.k8s.io/v1"}
	errObject      = &httpError{http.StatusBadRequest, "object or oldObject of the review is missing or is not what resource says"}
	// The state of the namespace allows neither yes nor no. An HTTP error lets the webhook's failurePolicy decide,
	// where the cluster's administrator has chosen between safety and availability.
	errNotSynced   = &httpError{http.StatusServiceUnavailable, "the view of the cluster is not complete yet"}
	errUnconfirmed = &httpError{http.StatusServiceUnavailable, "the edit takes something away and could not be checked against live reads; try again"}
)

// httpError is a failure to review, as opposed to a denial.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

var _ http.Handler = (*Handler)(nil)

// ServeHTTP answers the POST of an AdmissionReview. Every decided review gets status 200, denied or not.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := h.clock.Now()
	if !h.admit(r.Context()) {
		h.metrics.observe(nil, decisionError, h.clock.Since(started))
		writeError(w, errBusy)
		return
	}
	defer func() { <-h.inFlight }()
	review, err := h.decodeReview(w, r)
	if err != nil {
		h.metrics.observe(nil, decisionError, h.clock.Since(started))
		writeError(w, err)
		return
	}
	v, err := h.review(r.Context(), review.Request)
	if err != nil {
		h.metrics.observe(review.Request, decisionError, h.clock.Since(started))
		klog.FromContext(r.Context()).Error(err, "Could not review an edit", "resource", review.Request.Resource.Resource,
			"object", klog.KRef(review.Request.Namespace, review.Request.Name), "operation", review.Request.Operation)
		writeError(w, err)
		return
	}
	h.metrics.observe(review.Request, v.decision(), h.clock.Since(started))
	writeReview(w, &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: v.response(review.Request.UID)})
}

// admit waits until a review may start. A waiting request costs no more than a connection: nothing is read yet.
func (h *Handler) admit(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, h.liveTimeout)
	defer cancel()
	select {
	case h.inFlight <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// decodeReview reads the body within its bounds. Field names are case-sensitive, as for kube-apiserver itself, so
// that no field can be given twice under two spellings.
func (h *Handler) decodeReview(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionReview, error) {
	if r.Method != http.MethodPost {
		return nil, errMethod
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != runtime.ContentTypeJSON {
		return nil, errContentType
	}
	if !h.inventory.HasSynced() {
		return nil, errNotSynced
	}
	body, err := h.readBody(w, r)
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return nil, errTooLarge
		}
		return nil, errBody
	}
	review := &admissionv1.AdmissionReview{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, review); err != nil {
		return nil, errReview
	}
	if review.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") {
		return nil, errReview
	}
	if review.Request == nil || review.Request.UID == "" {
		return nil, errReview
	}
	return review, nil
}

// readBody reads the body within its bounds of size and time. The deadline is set on the connection, so a client that
// sends slowly occupies a review no longer than that.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	connection := http.NewResponseController(w)
	// If the connection supports no deadline, the timeout of the whole request bounds the read.
	if err := connection.SetReadDeadline(time.Now().Add(h.bodyTimeout)); err == nil {
		defer func() { _ = connection.SetReadDeadline(time.Time{}) }()
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
}

func writeError(w http.ResponseWriter, err error) {
	code, text := http.StatusInternalServerError, "the edit could not be reviewed"
	if known := (*httpError)(nil); errors.As(err, &known) {
		code, text = known.code, known.text
	} else if apierrors.IsServiceUnavailable(err) {
		code = http.StatusServiceUnavailable
	}
	http.Error(w, text, code)
}

func writeReview(w http.ResponseWriter, review *admissionv1.AdmissionReview) {
	body, err := json.Marshal(review)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	// A caller that has disconnected is not an error.
	_, _ = w.Write(body)
}
