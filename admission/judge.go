// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Judge answers a request as the webhook does, for callers that know the objects from elsewhere: the status with which
// the edit is denied, nil if it is admitted.
func (h *Handler) Judge(ctx context.Context, request *admissionv1.AdmissionRequest) (*metav1.Status, error) {
	v, err := h.review(ctx, request)
	if err != nil {
		return nil, err
	}
	return v.denied, nil
}
