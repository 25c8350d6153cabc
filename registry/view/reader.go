// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/sharding"
	"k8s.io/apiserver/pkg/storage"
	storeerrors "k8s.io/apiserver/pkg/storage/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// Reader serves get, list and watch of a namespaced resource from a store. It must not implement another verb,
// because the API installer advertises every verb that it finds implemented.
type Reader struct {
	rest.TableConvertor

	store     *Store
	resource  schema.GroupResource
	newObject func() runtime.Object
	newList   func() runtime.Object
	singular  string
}

var (
	_ rest.StorageWithReadiness = (*Reader)(nil)
	_ rest.Scoper               = (*Reader)(nil)
	_ rest.SingularNameProvider = (*Reader)(nil)
	_ rest.Getter               = (*Reader)(nil)
	_ rest.Lister               = (*Reader)(nil)
	_ rest.Watcher              = (*Reader)(nil)
)

// NewReader returns a reader of the store. The functions return empty objects of the hub types, singular is the name
// for discovery, and table renders for kubectl.
func NewReader(store *Store, resource schema.GroupResource, newFunc, newListFunc func() runtime.Object, singular string, table rest.TableConvertor) *Reader {
	return &Reader{
		TableConvertor: table,
		store:          store,
		resource:       resource,
		newObject:      newFunc,
		newList:        newListFunc,
		singular:       singular,
	}
}

// New implements rest.Storage.
func (r *Reader) New() runtime.Object { return r.newObject() }

// NewList implements rest.Lister.
func (r *Reader) NewList() runtime.Object { return r.newList() }

// NamespaceScoped implements rest.Scoper.
func (r *Reader) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (r *Reader) GetSingularName() string { return r.singular }

// ReadinessCheck implements rest.StorageWithReadiness.
func (r *Reader) ReadinessCheck() error { return r.store.ReadinessCheck() }

// Destroy stops the store, and with it all watches.
func (r *Reader) Destroy() { r.store.Stop() }

// Get implements rest.Getter. The caller owns the returned object.
func (r *Reader) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	key, err := r.key(ctx, name)
	if err != nil {
		return nil, err
	}
	opts := storage.GetOptions{}
	if options != nil {
		opts.ResourceVersion = options.ResourceVersion
	}
	object := r.newObject()
	if err := r.store.Get(ctx, key, opts, object); err != nil {
		return nil, storeerrors.InterpretGetError(err, r.resource, name)
	}
	return object, nil
}

// List implements rest.Lister.
func (r *Reader) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	key, opts, err := r.listOptions(ctx, options)
	if err != nil {
		return nil, err
	}
	list := r.newList()
	if err := r.store.GetList(ctx, key, opts, list); err != nil {
		return nil, storeerrors.InterpretListError(err, r.resource)
	}
	return list, nil
}

// Watch implements rest.Watcher.
func (r *Reader) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	key, opts, err := r.listOptions(ctx, options)
	if err != nil {
		return nil, err
	}
	return r.store.Watch(ctx, key, opts)
}

// listOptions translates the options of a request and returns the key to read. That is the key of one object if a
// selector names it, otherwise the root of the namespace or of the resource.
func (r *Reader) listOptions(ctx context.Context, options *metainternalversion.ListOptions) (string, storage.ListOptions, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	opts := storage.ListOptions{
		ResourceVersion:      options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch,
		SendInitialEvents:    options.SendInitialEvents,
		Recursive:            true,
		Predicate: storage.SelectionPredicate{
			Label:               options.LabelSelector,
			Field:               options.FieldSelector,
			GetAttrs:            r.store.cfg.GetAttrs,
			Limit:               options.Limit,
			Continue:            options.Continue,
			AllowWatchBookmarks: options.AllowWatchBookmarks,
		},
	}
	if options.ShardSelector != "" && utilfeature.DefaultFeatureGate.Enabled(features.ShardedListAndWatch) {
		selector, err := sharding.Parse(options.ShardSelector)
		if err != nil {
			return "", opts, apierrors.NewBadRequest(fmt.Sprintf("invalid shard selector: %v", err))
		}
		opts.Predicate.ShardSelector = selector
	}
	if name, ok := opts.Predicate.MatchesSingle(); ok {
		if key, err := r.key(ctx, name); err == nil {
			opts.Recursive = false
			return key, opts, nil
		}
		// Without a namespace the name may exist in several namespaces: only the selector finds the objects.
	}
	return r.root(ctx), opts, nil
}

// root returns the prefix of the keys in the request's namespace, or of all keys without one.
func (r *Reader) root(ctx context.Context) string {
	if namespace := genericapirequest.NamespaceValue(ctx); namespace != "" {
		return r.store.cfg.ResourcePrefix + namespace + "/"
	}
	return r.store.cfg.ResourcePrefix
}

func (r *Reader) key(ctx context.Context, name string) (string, error) {
	namespace := genericapirequest.NamespaceValue(ctx)
	if namespace == "" {
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	}
	if name == "" {
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if problems := content.IsPathSegmentName(name); len(problems) != 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(problems, ", ")))
	}
	return r.store.cfg.ResourcePrefix + namespace + "/" + name, nil
}
