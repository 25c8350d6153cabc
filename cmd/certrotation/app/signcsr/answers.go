// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/csr"
)

// answerTo returns the answer to a refused request. Its code tells the client not to retry: 422 if the request cannot
// be evaluated, 403 if it is denied. The type of its only cause is the reason of the refusal.
func answerTo(name string, refusal *csr.Refusal) *apierrors.StatusError {
	code, reason := int32(http.StatusForbidden), metav1.StatusReasonForbidden
	if refusal.Malformed() {
		code, reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: "certificate signing request refused: " + refusal.Message,
		Details: &metav1.StatusDetails{
			Name: name, Group: resource.Group, Kind: resource.Resource,
			Causes: []metav1.StatusCause{{Type: metav1.CauseType(refusal.Reason), Message: refusal.Message}},
		},
	}}
}

// internal logs the error, and tells the client nothing about the files of this machine.
func internal(ctx context.Context, err error) error {
	klog.FromContext(ctx).Error(err, "Cannot answer a request")
	return apierrors.NewInternalError(errors.New("see the log of the signer"))
}

// unavailable answers errors that an operator must fix while clients retry.
func unavailable(ctx context.Context, err error) error {
	klog.FromContext(ctx).Error(err, "Cannot sign")
	return apierrors.NewServiceUnavailable("the CA cannot sign at the moment; see the log of the signer")
}

// writeError answers with a metav1.Status.
func writeError(w http.ResponseWriter, err error) {
	status := responsewriters.ErrorToAPIStatus(err)
	responsewriters.WriteRawJSON(int(status.Code), status, w)
}
