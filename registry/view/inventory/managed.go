// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/registry/trust"
)

// watchNamespaces sets up the informer of the Namespaces that have opted in. It receives only their metadata, and
// keeps only the used part.
func (i *Inventory) watchNamespaces() {
	i.namespaces = observe(i.sources.namespaces, metav1.NamespaceAll, cache.ResourceEventHandlerFuncs{
		AddFunc:    i.namespaceChanged,
		UpdateFunc: func(_, after any) { i.namespaceChanged(after) },
		DeleteFunc: i.namespaceGone,
	}, i.refusals.report(i.sources.namespaces))
}

// consent keeps the part of a Namespace that decides whether it is managed.
func consent(object any) (any, error) {
	namespace, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion,
		Labels: map[string]string{trust.LabelManaged: namespace.Labels[trust.LabelManaged]},
	}}, nil
}

// namespaceChanged runs on the goroutine of the Namespace informer, as does namespaceGone. It checks the label too: a
// server that ignores the selector must not widen what is read.
func (i *Inventory) namespaceChanged(object any) {
	namespace, err := meta.Accessor(object)
	switch {
	case err != nil:
	case namespace.GetLabels()[trust.LabelManaged] == trust.ManagedValue:
		i.manage(namespace.GetName())
	default:
		i.release(namespace.GetName())
	}
}

func (i *Inventory) namespaceGone(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if namespace, err := meta.Accessor(object); err == nil {
		i.release(namespace.GetName())
	}
}

// manage starts to read a namespace, unless it is read already.
func (i *Inventory) manage(name string) {
	if i.managed.of(name) != nil {
		return
	}
	n := i.newNamespace(name)
	i.managed.add(n)
	for _, o := range n.sources() {
		i.running.Go(func() { o.RunWithContext(n.ended) })
	}
	i.running.Go(func() {
		for _, o := range n.sources() {
			select {
			case <-o.listed.Done():
			case <-n.ended.Done():
				return
			}
		}
		close(n.listed)
	})
}

// release stops reading a namespace and drops all its facts.
func (i *Inventory) release(name string) {
	if i.managed.drop(name) {
		i.memory.drop(name)
		i.tell(name)
	}
}

func (i *Inventory) newNamespace(name string) *namespace {
	n := newNamespace(i.managed.ctx, name, i.refusals)
	object := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { i.announce(n) },
		UpdateFunc: func(before, after any) { i.updated(n, before, after) },
		DeleteFunc: func(any) { i.announce(n) },
	}
	configuration := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { i.configurationChanged(n) },
		UpdateFunc: func(before, after any) {
			i.follow(n)
			i.updated(n, before, after)
		},
		DeleteFunc: func(any) { i.configurationChanged(n) },
	}
	of := func(s *source, handler cache.ResourceEventHandler) *observed {
		return observe(s, name, handler, n.refusals.report(s))
	}
	n.secrets, n.others, n.aggregates = of(i.sources.secrets, object), of(i.sources.others, object), of(i.sources.aggregates, object)
	n.records, n.configurations = of(i.sources.records, object), of(i.sources.configurations, configuration)
	return n
}

// namespaceSource lists and watches the Namespaces that have opted in, and no others.
func namespaceSource(clients Clients) *source {
	namespaces := clients.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	return metadataSource("Namespaces", clients.Metadata, namespaces, func(opts *metav1.ListOptions) {
		opts.LabelSelector = trust.LabelManaged + "=" + trust.ManagedValue
	}, consent)
}
