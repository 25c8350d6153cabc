// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestatus

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

// REST serves bundlestatuses.
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
	return &REST{Reader: view.NewReader(store, resource(), newObject, newList, "bundlestatus", NewTable(clk))}
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return []string{"bundle"} }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return []string{"certrotation"} }

// Kind implements rest.KindProvider.
func (r *REST) Kind() string { return "BundleStatus" }

func newObject() runtime.Object { return &certrotation.BundleStatus{} }

func newList() runtime.Object { return &certrotation.BundleStatusList{} }

func resource() schema.GroupResource { return certrotation.Resource("bundlestatuses") }

// ViewConfig returns the configuration of the store behind this resource.
func ViewConfig(epochs view.EpochSource, clk clock.WithTicker) view.Config {
	return view.Config{
		Resource:       resource(),
		ResourcePrefix: "/bundlestatuses",
		NewFunc:        newObject,
		NewListFunc:    newList,
		GetAttrs:       GetAttrs,
		Epochs:         epochs,
		Clock:          clk,
	}
}

// GetAttrs returns the labels of a BundleStatus and its selectable fields: those that v1alpha1 admits in field
// selectors.
func GetAttrs(object runtime.Object) (labels.Set, fields.Set, error) {
	bundle, err := typed(object)
	if err != nil {
		return nil, nil, err
	}
	return bundle.Labels, fields.Set{
		v1alpha1.FieldName:        bundle.Name,
		v1alpha1.FieldNamespace:   bundle.Namespace,
		v1alpha1.FieldSigner:      bundle.Spec.Signer,
		v1alpha1.FieldTrustDomain: bundle.Spec.TrustDomain,
		v1alpha1.FieldStage:       string(bundle.Status.Stage),
	}, nil
}

func typed(object runtime.Object) (*certrotation.BundleStatus, error) {
	bundle, ok := object.(*certrotation.BundleStatus)
	if !ok {
		return nil, fmt.Errorf("%T is not a BundleStatus", object)
	}
	return bundle, nil
}
