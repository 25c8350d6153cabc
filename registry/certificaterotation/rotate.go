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
	"certrotation.dev/registry/view/projection"
)

// RotateREST serves the subresource rotate. It asks the controller for a rotation and returns the plan.
type RotateREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*RotateREST)(nil)
	_ rest.NamedCreater             = (*RotateREST)(nil)
	_ rest.GroupVersionKindProvider = (*RotateREST)(nil)
	_ rest.StorageMetadata          = (*RotateREST)(nil)
)

// NewRotateREST returns the storage of the subresource.
func NewRotateREST(actions *Actions) *RotateREST { return &RotateREST{actions: actions} }

// New implements rest.Storage.
func (r *RotateREST) New() runtime.Object { return &certrotation.RotationRequest{} }

// Destroy implements rest.Storage.
func (r *RotateREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *RotateREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("RotationRequest")
}

// ProducesMIMETypes implements rest.StorageMetadata: nil means the types of every resource.
func (r *RotateREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject implements rest.StorageMetadata.
func (r *RotateREST) ProducesObject(string) any { return v1alpha1.RotationPlan{} }

// Create implements rest.NamedCreater.
func (r *RotateREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	request, ok := object.(*certrotation.RotationRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not a RotationRequest", object))
	}
	if errs := validation.ValidateRotationRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(certrotation.Kind("RotationRequest"), name, errs)
	}
	if err := admitted(ctx, validate, object); err != nil {
		return nil, err
	}
	target, err := r.actions.find(ctx, name)
	if err != nil {
		return nil, err
	}
	plan, err := trust.PlanRotation(target.domain, name, r.actions.clock.Now())
	if err != nil {
		return nil, refused(name, err)
	}
	asked := &trust.Request{Kind: trust.RequestRotate, Reason: request.Reason, Compromised: request.Compromised, Newest: trust.Newest(target.domain)}
	if err := r.actions.request(ctx, target, asked, options.DryRun); err != nil {
		return nil, err
	}
	return rotationPlan(plan), nil
}

// admitted runs the admission chain of this server, which is empty by default.
func admitted(ctx context.Context, validate rest.ValidateObjectFunc, object runtime.Object) error {
	if validate == nil {
		return nil
	}
	return validate(ctx, object.DeepCopyObject())
}

func rotationPlan(plan *trust.Plan) *certrotation.RotationPlan {
	out := &certrotation.RotationPlan{
		Target:     plan.Target,
		Hash:       plan.Hash,
		WouldBreak: plan.Breaks,
		Blockers:   projection.Blockers(plan.Blockers),
	}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		out.Steps = append(out.Steps, certrotation.PlanStep{
			Stage:    certrotation.Stage(step.Stage),
			Action:   string(step.Action),
			Object:   step.Object,
			WaitsFor: step.WaitsFor,
			Message:  step.Message,
		})
	}
	return out
}
