// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	ownscheme "certrotation.dev/generated/clientset/versioned/scheme"
)

type kinds struct {
	scheme *runtime.Scheme
	// lists are the list kinds that the dynamic client needs.
	lists *runtime.Scheme
	// of maps each resource to its kind.
	of map[schema.GroupVersionResource]schema.GroupVersionKind
}

// served are the kinds of the groups of all clients.
var served = sync.OnceValues(func() (*kinds, error) {
	k := &kinds{scheme: runtime.NewScheme(), lists: runtime.NewScheme(), of: map[schema.GroupVersionResource]schema.GroupVersionKind{}}
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, ownscheme.AddToScheme, apiregistrationv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(k.scheme); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	for kind := range k.scheme.AllKnownTypes() {
		switch {
		case kind.Version == runtime.APIVersionInternal:
		case strings.HasSuffix(kind.Kind, "List"):
			k.lists.AddKnownTypeWithName(kind, &unstructured.UnstructuredList{})
		default:
			resource, _ := meta.UnsafeGuessKindToResource(kind)
			k.of[resource] = kind
		}
	}
	return k, nil
})

func (k *kinds) resourceOf(o runtime.Object) (schema.GroupVersionResource, error) {
	known, _, err := k.scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("find the resource of %T: %w", o, err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(known[0])
	return resource, nil
}

// empty returns an empty object of a resource.
func (k *kinds) empty(resource schema.GroupVersionResource) (runtime.Object, error) {
	kind, ok := k.of[resource]
	if !ok {
		return nil, fmt.Errorf("apifake: %s are not served", resource)
	}
	return k.scheme.New(kind)
}

func (k *kinds) list(resource schema.GroupVersionResource, items []runtime.Object) (runtime.Object, error) {
	kind, ok := k.of[resource]
	if !ok {
		return nil, fmt.Errorf("apifake: %s are not served", resource)
	}
	kind.Kind += "List"
	list, err := k.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	return list, meta.SetList(list, items)
}

// metadataOf returns an object as the metadata client sees it.
func (k *kinds) metadataOf(o runtime.Object) (runtime.Object, error) {
	accessor, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	known, _, err := k.scheme.ObjectKinds(o)
	if err != nil {
		return nil, err
	}
	out := meta.AsPartialObjectMetadata(accessor)
	out.SetGroupVersionKind(known[0])
	return out, nil
}
