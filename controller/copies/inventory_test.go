// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// Live implements rotation.Inventory.
func (w *world) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	s := &inventory.Sources{Namespace: namespace}
	for resource, add := range map[string]func(runtime.Object){
		"secrets": func(o runtime.Object) {
			for i := range o.(*corev1.SecretList).Items {
				secret := &o.(*corev1.SecretList).Items[i]
				s = s.WithSecret(secret.Name, secret)
			}
		},
		"configmaps": func(o runtime.Object) {
			for i := range o.(*corev1.ConfigMapList).Items {
				cm := &o.(*corev1.ConfigMapList).Items[i]
				s = s.WithConfigMap(cm.Name, cm)
			}
		},
	} {
		kind := map[string]string{"secrets": "Secret", "configmaps": "ConfigMap"}[resource]
		list, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource(resource), corev1.SchemeGroupVersion.WithKind(kind), namespace)
		if err != nil {
			return nil, err
		}
		add(list)
	}
	return w.withOwn(s, namespace)
}

// withOwn adds the configurations and the records.
func (w *world) withOwn(s *inventory.Sources, namespace string) (*inventory.Sources, error) {
	list := func(kind string, resource string) (runtime.Object, error) {
		return w.own.Tracker().List(configv1alpha1.SchemeGroupVersion.WithResource(resource), configv1alpha1.SchemeGroupVersion.WithKind(kind), namespace)
	}
	configurations, err := list(configv1alpha1.Kind, "rotationconfigurations")
	if err != nil {
		return nil, err
	}
	for i := range configurations.(*configv1alpha1.RotationConfigurationList).Items {
		cfg := &configurations.(*configv1alpha1.RotationConfigurationList).Items[i]
		s = s.WithConfiguration(cfg.Name, cfg)
	}
	records, err := list("RotationRecord", "rotationrecords")
	if err != nil {
		return nil, err
	}
	for i := range records.(*configv1alpha1.RotationRecordList).Items {
		r := &records.(*configv1alpha1.RotationRecordList).Items[i]
		s = s.WithRecord(r.Name, r)
	}
	return s, nil
}

// Sources implements rotation.Inventory.
func (w *world) Sources(namespace string) *inventory.Sources {
	s, err := w.Live(w.t.Context(), namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(w.Sources(namespace))
}
