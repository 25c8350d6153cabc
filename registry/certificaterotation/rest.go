// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/view"
)

// REST serves certificaterotations.
type REST struct {
	*view.Reader
}

var (
	_ rest.Getter             = (*REST)(nil)
	_ rest.Lister             = (*REST)(nil)
	_ rest.Watcher            = (*REST)(nil)
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
	_ rest.KindProvider       = (*REST)(nil)
)

// NewREST serves a store that was made with ViewConfig.
func NewREST(store *view.Store, clk clock.PassiveClock) *REST {
	return &REST{Reader: view.NewReader(store, resource(), newObject, newList, "certificaterotation", NewTable(clk))}
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return []string{"certrot"} }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return []string{"certrotation"} }

// Kind implements rest.KindProvider.
func (r *REST) Kind() string { return "CertificateRotation" }

func newObject() runtime.Object { return &certrotation.CertificateRotation{} }

func newList() runtime.Object { return &certrotation.CertificateRotationList{} }

func resource() schema.GroupResource { return certrotation.Resource("certificaterotations") }

// ViewConfig returns the configuration of the store behind this resource.
func ViewConfig(epochs view.EpochSource, clk clock.WithTicker) view.Config {
	return view.Config{
		Resource:       resource(),
		ResourcePrefix: "/certificaterotations",
		NewFunc:        newObject,
		NewListFunc:    newList,
		GetAttrs:       GetAttrs,
		Epochs:         epochs,
		Clock:          clk,
	}
}

// GetAttrs returns the labels of a CertificateRotation and its selectable fields: those that v1alpha1 admits in field
// selectors.
func GetAttrs(object runtime.Object) (labels.Set, fields.Set, error) {
	rotation, err := typed(object)
	if err != nil {
		return nil, nil, err
	}
	return rotation.Labels, fields.Set{
		v1alpha1.FieldName:        rotation.Name,
		v1alpha1.FieldNamespace:   rotation.Namespace,
		v1alpha1.FieldRole:        string(rotation.Spec.Role),
		v1alpha1.FieldSigner:      rotation.Spec.Signer,
		v1alpha1.FieldTrustDomain: rotation.Spec.TrustDomain,
		v1alpha1.FieldStage:       string(rotation.Status.Stage),
	}, nil
}

func typed(object runtime.Object) (*certrotation.CertificateRotation, error) {
	rotation, ok := object.(*certrotation.CertificateRotation)
	if !ok {
		return nil, fmt.Errorf("%T is not a CertificateRotation", object)
	}
	return rotation, nil
}
