// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// CSRREST serves the subresource csr of a signer: the request for its next CA, that the owner of its root signs. The key
// stays in the Secret; this server never reads it.
type CSRREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*CSRREST)(nil)
	_ rest.Getter                   = (*CSRREST)(nil)
	_ rest.GroupVersionKindProvider = (*CSRREST)(nil)
)

// NewCSRREST returns the storage of the subresource.
func NewCSRREST(actions *Actions) *CSRREST { return &CSRREST{actions: actions} }

// New implements rest.Storage.
func (r *CSRREST) New() runtime.Object { return &certrotation.SigningRequest{} }

// Destroy implements rest.Storage.
func (r *CSRREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *CSRREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("SigningRequest")
}

var errNoRequest = errors.New("it has requested no CA: a signer that is an intermediate does when its rotation begins")

// Get implements rest.Getter.
func (r *CSRREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	target, err := r.actions.findSigner(ctx, name, "asked for its request")
	if err != nil {
		return nil, err
	}
	request := target.domain.Signer.Request
	if request == nil {
		return nil, apierrors.NewConflict(resource(), name, errNoRequest)
	}
	return &certrotation.SigningRequest{Request: string(request.PEM())}, nil
}
