// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/view"
)

type virtual interface {
	runtime.Object
	metav1.Object
}

// apply applies what differs from the served objects. On an error, served stays unchanged: a store ignores a change
// that it has taken already.
func (p *Projector) apply(namespace string, next *Objects) error {
	previous := p.served[namespace]
	if previous == nil {
		previous = newObjects()
	}
	certificates := diff(namespace, previous.Certificates, next.Certificates)
	if err := applyAll(p.cfg.Certificates, certificates); err != nil {
		return err
	}
	bundles := diff(namespace, previous.Bundles, next.Bundles)
	if err := applyAll(p.cfg.Bundles, bundles); err != nil {
		return err
	}
	p.metrics.count(ResourceCertificates, len(next.Certificates)-len(previous.Certificates))
	p.metrics.count(ResourceBundles, len(next.Bundles)-len(previous.Bundles))
	if len(next.Certificates) == 0 && len(next.Bundles) == 0 {
		delete(p.served, namespace)
		return nil
	}
	p.served[namespace] = next
	return nil
}

func applyAll(store Store, changes []view.Change) error {
	if len(changes) == 0 {
		return nil
	}
	_, err := store.Apply(changes)
	return err
}

// diff lists the changes from previous to next, ordered by name. next takes over an unchanged object, so that one
// copy is kept. An object whose source was replaced is deleted and created again, like the source.
func diff[T virtual](namespace string, previous, next map[string]T) []view.Change {
	var changes []view.Change
	for _, name := range slices.Sorted(maps.Keys(previous)) {
		if replacement, ok := next[name]; !ok || replacement.GetUID() != previous[name].GetUID() {
			changes = append(changes, view.Change{Key: namespace + "/" + name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		old, ok := previous[name]
		if ok && same(old, next[name]) {
			next[name] = old
			continue
		}
		changes = append(changes, view.Change{Key: namespace + "/" + name, Object: next[name]})
	}
	return changes
}

// same compares an applied object with a rendered one, which has no resource version yet.
func same(applied, rendered virtual) bool {
	rendered.SetResourceVersion(applied.GetResourceVersion())
	equal := equality.Semantic.DeepEqual(applied, rendered)
	rendered.SetResourceVersion("")
	return equal
}
