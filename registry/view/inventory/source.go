// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// clusterSources are the kinds of objects that are read, each with its own list and watch.
type clusterSources struct {
	// namespaces, nodes and classes are cluster-wide, all others are read per namespace. secrets are of type
	// kubernetes.io/tls. others are the metadata of Secrets of all other types. aggregates are those of the others
	// that have the label trust.LabelAggregate, with their content.
	namespaces, nodes, classes, configurations, records, secrets, others, aggregates, configMaps *source
	// podsOf returns the source of the pods of a label selector, editionsOf that of the editions of an identity that are not
	// of type kubernetes.io/tls, with their content, and passwordsIn that of one Secret of another type by its name.
	podsOf, editionsOf, passwordsIn func(selector string) *source
}

type source struct {
	name    string
	example runtime.Object
	// client decides whether streaming lists work; those of the fake clients do not.
	client any
	list   func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error)
	watch  func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error)
	// restrict adds the selector of this source.
	restrict func(*metav1.ListOptions)
	// keep replaces an object by its facts. It returns facts unchanged.
	keep cache.TransformFunc
}

func newClusterSources(clients Clients, certs *pki.Cache) clusterSources {
	core := clients.Core.CoreV1()
	secrets := source{
		example: &corev1.Secret{},
		client:  clients.Core,
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return core.Secrets(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
			return core.Secrets(namespace).Watch(ctx, opts)
		},
		keep: keepFacts(certs),
	}
	aggregates := secrets
	secrets.name, secrets.restrict = "Secrets of type kubernetes.io/tls", byField(fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)))
	aggregates.name, aggregates.restrict = "aggregate Secrets", func(opts *metav1.ListOptions) { opts.LabelSelector = trust.LabelAggregate }

	editionsOf := func(identity string) *source {
		editions := secrets
		editions.name, editions.restrict = "editions", func(opts *metav1.ListOptions) {
			opts.LabelSelector = labels.Set{edition.LabelManagedBy: edition.ManagedBy, edition.LabelManagerIdentity: identity}.String()
			opts.FieldSelector = fields.OneTermEqualSelector("type", string(corev1.SecretTypeOpaque)).String()
		}
		return &editions
	}

	passwordsIn := func(name string) *source {
		passwords := secrets
		passwords.name, passwords.restrict = "passwords of Secret "+name, byField(fields.AndSelectors(
			fields.OneTermEqualSelector(metav1.ObjectNameField, name), fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeTLS))))
		return &passwords
	}

	metadataOf := clients.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	out := clusterSources{
		secrets:    &secrets,
		aggregates: &aggregates,
		editionsOf: editionsOf, passwordsIn: passwordsIn,
		others: metadataSource("metadata of Secrets of other types", clients.Metadata, metadataOf,
			byField(fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeTLS))), secrets.keep),
		namespaces: namespaceSource(clients),
		configMaps: &source{
			name:    "ConfigMaps",
			example: &corev1.ConfigMap{},
			client:  clients.Core,
			list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
				return core.ConfigMaps(namespace).List(ctx, opts)
			},
			watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
				return core.ConfigMaps(namespace).Watch(ctx, opts)
			},
			restrict: everything,
			keep:     secrets.keep,
		},
		nodes: &source{
			name:    "Nodes",
			example: &corev1.Node{},
			client:  clients.Core,
			list: func(ctx context.Context, _ string, opts metav1.ListOptions) (runtime.Object, error) {
				return core.Nodes().List(ctx, opts)
			},
			watch: func(ctx context.Context, _ string, opts metav1.ListOptions) (watch.Interface, error) {
				return core.Nodes().Watch(ctx, opts)
			},
			restrict: everything,
			keep:     secrets.keep,
		},
	}
	out.podsOf = func(selector string) *source {
		return &source{
			name:    "Pods",
			example: &corev1.Pod{},
			client:  clients.Core,
			list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
				return core.Pods(namespace).List(ctx, opts)
			},
			watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
				return core.Pods(namespace).Watch(ctx, opts)
			},
			restrict: func(opts *metav1.ListOptions) { opts.LabelSelector = selector },
			keep:     secrets.keep,
		}
	}
	out.classes = classSource(clients.Config, secrets.keep)
	out.configurations, out.records = ownSources(clients.Config, secrets.keep)
	return out
}

// metadataSource lists and watches metadata, and transfers no content.
func metadataSource(name string, client metadata.Interface, resource metadata.Getter, restrict func(*metav1.ListOptions),
	keep cache.TransformFunc,
) *source {
	// Without a namespace it reads all of them. That is also how to read a cluster-scoped resource.
	return &source{
		name:    name,
		example: &metav1.PartialObjectMetadata{},
		client:  client,
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return resource.Namespace(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
			return resource.Namespace(namespace).Watch(ctx, opts)
		},
		restrict: restrict,
		keep:     keep,
	}
}

// ownSources returns the sources of the two namespaced resources of certrotation.
func ownSources(client versioned.Interface, keep cache.TransformFunc) (configurations, records *source) {
	own := client.ConfigV1alpha1()
	configurations = &source{
		name:    "RotationConfigurations",
		example: &configv1alpha1.RotationConfiguration{},
		client:  client,
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return own.RotationConfigurations(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
			return own.RotationConfigurations(namespace).Watch(ctx, opts)
		},
		restrict: everything,
		keep:     keep,
	}
	records = &source{
		name:    "RotationRecords",
		example: &configv1alpha1.RotationRecord{},
		client:  client,
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return own.RotationRecords(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
			return own.RotationRecords(namespace).Watch(ctx, opts)
		},
		restrict: everything,
		keep:     keep,
	}
	return configurations, records
}

// classSource returns the source of the StaticPodClasses, which are cluster-scoped.
func classSource(client versioned.Interface, keep cache.TransformFunc) *source {
	classes := client.ConfigV1alpha1().StaticPodClasses()
	return &source{
		name:    "StaticPodClasses",
		example: &configv1alpha1.StaticPodClass{},
		client:  client,
		list: func(ctx context.Context, _ string, opts metav1.ListOptions) (runtime.Object, error) {
			return classes.List(ctx, opts)
		},
		watch: func(ctx context.Context, _ string, opts metav1.ListOptions) (watch.Interface, error) {
			return classes.Watch(ctx, opts)
		},
		restrict: everything,
		keep:     keep,
	}
}

func everything(*metav1.ListOptions) {}

func byField(selector fields.Selector) func(*metav1.ListOptions) {
	text := selector.String()
	return func(opts *metav1.ListOptions) { opts.FieldSelector = text }
}
