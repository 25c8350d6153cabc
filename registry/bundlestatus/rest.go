// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestatus

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation"
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

// NewREST serves what is in a store that was made with ViewConfig.
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
