// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// The service account with which kube-controller-manager empties a namespace that is being deleted.
const namespaceController = "system:serviceaccount:kube-system:namespace-controller"

// review decides about one request. It fails with an *httpError where there is no honest answer.
func (h *Handler) review(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	switch {
	case req.Namespace == "" || req.Resource.Group != corev1.GroupName || req.SubResource != "":
		return allowed(), nil
	case req.Operation == admissionv1.Delete && req.UserInfo.Username == namespaceController:
		return allowed(), nil
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
	default:
		return allowed(), nil
	}
	switch req.Resource.Resource {
	case "secrets":
		return h.reviewSecret(ctx, req)
	case "configmaps":
		return h.reviewConfigMap(ctx, req)
	}
	return allowed(), nil
}

// edit is a write that somebody asks for. Old is nil if the object is created, changed if it is deleted.
type edit[T any] struct {
	request *admissionv1.AdmissionRequest
	// name of the object. A request for the deletion of a collection does not carry it, nor does one for the creation
	// of an object whose name is generated: it comes from the object. Empty if there is none yet.
	name         string
	old, changed *T
}

// decodeEdit reads both objects. What is there must be what the operation says.
func decodeEdit[T any](req *admissionv1.AdmissionRequest, nameOf func(*T) string) (*edit[T], error) {
	old, err := decodeObject[T](req.OldObject)
	if err != nil {
		return nil, err
	}
	changed, err := decodeObject[T](req.Object)
	if err != nil {
		return nil, err
	}
	e := &edit[T]{request: req, old: old, changed: changed}
	if wantOld, wantChanged := req.Operation != admissionv1.Create, req.Operation != admissionv1.Delete; wantOld != (old != nil) || wantChanged != (changed != nil) {
		return nil, errObject
	}
	for _, object := range []*T{old, changed} {
		if object != nil && e.name == "" {
			e.name = nameOf(object)
		}
	}
	if e.name == "" {
		e.name = req.Name
	}
	return e, nil
}

func decodeObject[T any](raw runtime.RawExtension) (*T, error) {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil, nil
	}
	object := new(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw.Raw, object); err != nil {
		return nil, errObject
	}
	return object, nil
}
