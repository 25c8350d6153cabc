// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/apis/certrotation/validation"
	"certrotation.dev/registry/trust"
)

// AbortREST serves the subresource abort of a signer. It asks the controller to undo the rotation in flight and
// returns the plan.
type AbortREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*AbortREST)(nil)
	_ rest.NamedCreater             = (*AbortREST)(nil)
	_ rest.GroupVersionKindProvider = (*AbortREST)(nil)
	_ rest.StorageMetadata          = (*AbortREST)(nil)
)

// NewAbortREST returns the storage of the subresource.
func NewAbortREST(actions *Actions) *AbortREST { return &AbortREST{actions: actions} }

// New implements rest.Storage.
func (r *AbortREST) New() runtime.Object { return &certrotation.AbortRequest{} }

// Destroy implements rest.Storage.
func (r *AbortREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *AbortREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("AbortRequest")
}

// ProducesMIMETypes implements rest.StorageMetadata: nil means the types of every resource.
func (r *AbortREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject implements rest.StorageMetadata.
func (r *AbortREST) ProducesObject(string) any { return v1alpha1.RotationPlan{} }

// Create implements rest.NamedCreater.
func (r *AbortREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	request, ok := object.(*certrotation.AbortRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not an AbortRequest", object))
	}
	if errs := validation.ValidateAbortRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(certrotation.Kind("AbortRequest"), name, errs)
	}
	if err := admitted(ctx, validate, object); err != nil {
		return nil, err
	}
	target, err := r.actions.findSigner(ctx, name, "aborted")
	if err != nil {
		return nil, err
	}
	plan, err := trust.PlanAbort(target.domain, r.actions.clock.Now())
	if err != nil {
		return nil, refused(name, err)
	}
	asked := &trust.Request{Kind: trust.RequestAbort, Reason: request.Reason}
	if err := r.actions.request(ctx, target, asked, options.DryRun); err != nil {
		return nil, err
	}
	return rotationPlan(plan), nil
}

// findSigner finds the target of a request about a whole trust domain, and refuses leaves. done is the participle for
// the message, such as "aborted".
func (a *Actions) findSigner(ctx context.Context, name, done string) (*target, error) {
	target, err := a.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if !target.signer {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"%q is a leaf; a trust domain is %s at its signer %q", name, done, target.domain.Signer.Name))
	}
	return target, nil
}
