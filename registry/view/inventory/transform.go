// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

// keepFacts replaces objects by their facts before a cache stores them. Facts pass unchanged, because a cache may
// pass them again. Nothing uses a Secret after this call, so its content is wiped.
func keepFacts(certs *pki.Cache) cache.TransformFunc {
	return func(object any) (any, error) {
		switch o := object.(type) {
		case *corev1.Secret:
			defer wipe(o)
			if o.Type == corev1.SecretTypeTLS {
				return ParseSecret(o, certs), nil
			}
			return ParseOtherSecret(o, certs), nil
		case *metav1.PartialObjectMetadata:
			return &OtherSecret{ObjectMeta: keptMeta(o)}, nil
		case *corev1.ConfigMap:
			return ParseConfigMap(o, certs), nil
		case *configv1alpha1.RotationConfiguration:
			return ParseConfiguration(o), nil
		case *configv1alpha1.RotationRecord:
			return ParseRecord(o), nil
		case *configv1alpha1.StaticPodClass:
			return ParseClass(o), nil
		case *corev1.Node:
			return ParseNode(o), nil
		case *corev1.Pod:
			return ParsePod(o), nil
		default:
			return object, nil
		}
	}
}

// wipe overwrites the content of a Secret. The buffers of the connection and the decoder keep copies until they are
// reused or collected.
func wipe(secret *corev1.Secret) {
	for _, value := range secret.Data {
		clear(value)
	}
}

// found are the facts from the sources, as lists.
type found struct {
	configurations, records, secrets, others, aggregates, editions, passwords, configMaps, nodes, classes, pods []any
	// selectors are those whose pods were listed.
	selectors map[string]bool
	// nodesUnknown is true if the nodes were not listed.
	nodesUnknown bool
}

// assemble builds the Sources of one namespace.
//
// The sources overlap while they catch up with each other, and where a server ignores a selector. A Secret with the
// facts of a certificate wins over one of another type, and of those the one with content wins.
func assemble(namespace string, certs *pki.Cache, f *found) *Sources {
	s := &Sources{
		Namespace:      namespace,
		Configurations: byName(f.configurations, func(c *Configuration) string { return c.Name }),
		Records:        byName(f.records, func(r *Record) string { return r.Name }),
		Secrets:        byName(f.secrets, func(secret *Secret) string { return secret.Name }),
		Others:         byName(f.others, func(other *OtherSecret) string { return other.Name }),
		ConfigMaps:     byName(f.configMaps, func(cm *ConfigMap) string { return cm.Name }),
		Nodes:          byName(f.nodes, func(node *Node) string { return node.Name }),
		NodesUnknown:   f.nodesUnknown,
		Classes:        byName(f.classes, func(class *Class) string { return class.Name }),
		Pods:           byName(f.pods, func(pod *Pod) string { return pod.Name }),
		Selectors:      f.selectors,
		certs:          certs,
	}
	for _, object := range slices.Concat(f.aggregates, f.editions, f.passwords) {
		if other, ok := object.(*OtherSecret); ok && (other.Aggregate != nil || other.Edition != nil || other.Passwords != nil) {
			s.Others[other.Name] = other
		}
	}
	maps.DeleteFunc(s.Others, func(name string, _ *OtherSecret) bool { return s.Secrets[name] != nil })
	return s
}

func byName[T any](objects []any, name func(T) string) map[string]T {
	out := make(map[string]T, len(objects))
	for _, object := range objects {
		if o, ok := object.(T); ok {
			out[name(o)] = o
		}
	}
	return out
}
