// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// configurationIndex has each configuration under its namespace.
const configurationIndex = "configuration"

// clusterSources are the kinds of objects that are read, each by its own list and watch.
type clusterSources struct {
	// secrets are of type kubernetes.io/tls, others are the metadata of all other types, and aggregates are those of
	// the others that are labelled as such, with their content.
	secrets, others, aggregates, configMaps, nodes *source
}

// source lists and watches one kind of object.
type source struct {
	name    string
	example runtime.Object
	// client says whether streaming lists work; those of the fake clients do not.
	client any
	list   func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error)
	watch  func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	// restrict adds the selector of this source.
	restrict func(*metav1.ListOptions)
	// keep replaces an object by the facts about it. It returns what is facts already as it is.
	keep     cache.TransformFunc
	indexers cache.Indexers
}

func newClusterSources(client kubernetes.Interface, meta metadata.Interface, certs *pki.Cache) clusterSources {
	core := client.CoreV1()
	secrets := source{
		example: &corev1.Secret{},
		client:  client,
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return core.Secrets(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return core.Secrets(metav1.NamespaceAll).Watch(ctx, opts)
		},
		keep:     keepFacts(certs),
		indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	}
	aggregates := secrets
	secrets.name, secrets.restrict = "Secrets of type kubernetes.io/tls", byField(fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)))
	aggregates.name, aggregates.restrict = "aggregate Secrets", func(opts *metav1.ListOptions) { opts.LabelSelector = trust.LabelAggregate }

	metadataOf := meta.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	return clusterSources{
		secrets:    &secrets,
		aggregates: &aggregates,
		others: &source{
			name:    "metadata of Secrets of other types",
			example: &metav1.PartialObjectMetadata{},
			client:  meta,
			list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
				return metadataOf.Namespace(namespace).List(ctx, opts)
			},
			watch:    metadataOf.Watch,
			restrict: byField(fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeTLS))),
			keep:     secrets.keep,
			indexers: secrets.indexers,
		},
		configMaps: &source{
			name:    "ConfigMaps",
			example: &corev1.ConfigMap{},
			client:  client,
			list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
				return core.ConfigMaps(namespace).List(ctx, opts)
			},
			watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return core.ConfigMaps(metav1.NamespaceAll).Watch(ctx, opts)
			},
			restrict: func(*metav1.ListOptions) {},
			keep:     secrets.keep,
			indexers: cache.Indexers{
				cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
				configurationIndex:   indexConfiguration,
			},
		},
		nodes: &source{
			name:    "Nodes",
			example: &corev1.Node{},
			client:  client,
			list: func(ctx context.Context, _ string, opts metav1.ListOptions) (runtime.Object, error) {
				return core.Nodes().List(ctx, opts)
			},
			watch:    core.Nodes().Watch,
			restrict: func(*metav1.ListOptions) {},
			keep:     secrets.keep,
		},
	}
}

func byField(selector fields.Selector) func(*metav1.ListOptions) {
	text := selector.String()
	return func(opts *metav1.ListOptions) { opts.FieldSelector = text }
}

func indexConfiguration(object any) ([]string, error) {
	if cm, ok := object.(*ConfigMap); ok && cm.Configuration != nil {
		return []string{cm.Namespace}, nil
	}
	return nil, nil
}

// informer sets up the informer of a source over all namespaces, and tells when its handler has seen the first list.
func (s *source) informer(handler cache.ResourceEventHandler) (cache.SharedIndexInformer, cache.DoneChecker, error) {
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			s.restrict(&opts)
			return s.list(ctx, metav1.NamespaceAll, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			s.restrict(&opts)
			return s.watch(ctx, opts)
		},
	}, s.client)
	informer := cache.NewSharedIndexInformerWithOptions(lw, s.example, cache.SharedIndexInformerOptions{
		Indexers: s.indexers, ObjectDescription: s.name,
	})
	if err := informer.SetTransform(s.keep); err != nil {
		return nil, nil, fmt.Errorf("set up the informer of %s: %w", s.name, err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the informer of %s: %w", s.name, err)
	}
	return informer, registration.HasSyncedChecker(), nil
}
