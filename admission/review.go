// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// namespaceController is the service account with which kube-controller-manager empties a namespace that is being
// deleted.
const namespaceController = "system:serviceaccount:kube-system:namespace-controller"

// review decides one request. It fails with an *httpError if it can answer neither yes nor no.
func (h *Handler) review(ctx context.Context, req *admissionv1.AdmissionRequest) (*verdict, error) {
	switch {
	case req.Namespace == "" || req.SubResource != "":
		return allowed(), nil
	case req.Operation == admissionv1.Delete && req.UserInfo.Username == namespaceController:
		return allowed(), nil
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
	default:
		return allowed(), nil
	}
	resource := metav1.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}
	review := h.reviewerOf(resource)
	if review == nil || !h.inventory.Managed(req.Namespace) && !createsRecord(resource, req.Operation) {
		return allowed(), nil
	}
	if err := h.known(ctx, req.Namespace); err != nil {
		return nil, err
	}
	return review(ctx, req)
}

// reviewerOf returns the reviewer of a resource, nil for a resource that the guard ignores.
func (h *Handler) reviewerOf(resource metav1.GroupResource) func(context.Context, *admissionv1.AdmissionRequest) (*verdict, error) {
	switch resource {
	case metav1.GroupResource{Group: corev1.GroupName, Resource: "secrets"}:
		return (&claimable[corev1.Secret]{
			Handler: h, kind: trust.SecretKind, metadata: func(s *corev1.Secret) *metav1.ObjectMeta { return &s.ObjectMeta },
			fields: changedSecretFields, with: (*inventory.Sources).WithSecret,
		}).review
	case metav1.GroupResource{Group: corev1.GroupName, Resource: "configmaps"}:
		return (&claimable[corev1.ConfigMap]{
			Handler: h, kind: trust.ConfigMapKind, metadata: func(cm *corev1.ConfigMap) *metav1.ObjectMeta { return &cm.ObjectMeta },
			fields: changedConfigMapFields, with: (*inventory.Sources).WithConfigMap,
		}).review
	case metav1.GroupResource{Group: configv1alpha1.GroupName, Resource: "rotationconfigurations"}:
		return h.reviewConfiguration
	case recordResource:
		return h.reviewRecord
	}
	return nil
}

var recordResource = metav1.GroupResource{Group: configv1alpha1.GroupName, Resource: "rotationrecords"}

// createsRecord reports whether a write creates or changes a record. The guard ignores other writes in an unmanaged
// namespace, but its records would count as soon as it opts in. The check needs only the user name, so it costs no
// read.
func createsRecord(resource metav1.GroupResource, operation admissionv1.Operation) bool {
	return resource == recordResource && operation != admissionv1.Delete
}

// known waits for a namespace that has just got its first configuration: it must not pass for a namespace without
// one.
func (h *Handler) known(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, h.liveTimeout)
	defer cancel()
	if err := h.inventory.Await(ctx, namespace); err != nil {
		return fmt.Errorf("%w: %w", errNotSynced, err)
	}
	return nil
}

// edit is a requested write. old is nil for a creation, changed is nil for a deletion.
type edit[T any] struct {
	request *admissionv1.AdmissionRequest
	// name of the object. A deletion of a collection and a creation with generateName carry no name in the request:
	// it comes from the object. Empty if there is none yet.
	name         string
	old, changed *T
}

// decodeEdit decodes both objects. The operation determines which of them must be present.
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
