// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

type selection struct {
	resource  schema.GroupVersionResource
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func selectionOf(resource schema.GroupVersionResource, namespace string, empty object, opts *metav1.ListOptions) (*selection, error) {
	s := &selection{resource: resource, namespace: namespace}
	var err error
	if s.labels, err = labels.Parse(opts.LabelSelector); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(opts.FieldSelector); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	known := fieldsOf(empty)
	for _, r := range s.fields.Requirements() {
		if !known.Has(r.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	return s, nil
}

func (s *selection) has(o object) bool {
	return o != nil && (s.namespace == "" || s.namespace == o.GetNamespace()) &&
		s.labels.Matches(labels.Set(o.GetLabels())) && (s.fields.Empty() || s.fields.Matches(fieldsOf(o)))
}

// fieldsOf returns the fields by which an object can be selected.
func fieldsOf(o object) fields.Set {
	out := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	switch o := o.(type) {
	case *corev1.Secret:
		out["type"] = string(o.Type)
	case *corev1.Pod:
		out["spec.nodeName"], out["status.phase"] = o.Spec.NodeName, string(o.Status.Phase)
	case *v1alpha1.CertificateRotation:
		out["spec.signer"] = o.Spec.Signer
	case *v1alpha1.BundleStatus:
		out["spec.signer"] = o.Spec.Signer
	}
	return out
}
