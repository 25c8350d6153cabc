// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
)

// watchNamespaces sets up the informer of the Namespaces that have opted in. It only gets the metadata of a Namespace,
// and keeps the part of it that is used.
func (i *Inventory) watchNamespaces() error {
	i.namespaces = &observed{source: i.sources.namespaces}
	return i.namespaces.watch(metav1.NamespaceAll, cache.ResourceEventHandlerFuncs{
		AddFunc:    i.namespaceChanged,
		UpdateFunc: func(_, after any) { i.namespaceChanged(after) },
		DeleteFunc: i.namespaceGone,
	}, i.refusals.report(i.namespaces.source))
}

// consent keeps the part of a Namespace that says whether it is managed.
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

// namespaceChanged runs on the goroutine of the informer of Namespaces, as does namespaceGone. The label is checked
// here as well: a server that ignores the selector must not widen what is read.
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

// manage starts reading a namespace, unless it is read already.
func (i *Inventory) manage(name string) {
	if i.managed.of(name) != nil {
		return
	}
	n, err := i.newNamespace(name)
	if err != nil {
		// A new informer refuses neither a transform nor a handler. The namespace would stay unknown, which stops
		// everything in it.
		klog.FromContext(i.managed.ctx).Error(err, "Failed to begin to read a namespace", "namespace", name)
		return
	}
	i.managed.add(n)
	for _, o := range n.sources() {
		i.running.Go(func() { o.informer.RunWithContext(n.ended) })
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

// release stops reading a namespace and drops everything that is known about it.
func (i *Inventory) release(name string) {
	if i.managed.drop(name) {
		i.memory.drop(name)
		i.tell(name)
	}
}

// newNamespace sets up the informers of a namespace.
func (i *Inventory) newNamespace(name string) (*namespace, error) {
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
	for _, set := range []struct {
		up      **observed
		source  *source
		handler cache.ResourceEventHandler
	}{
		{&n.secrets, i.sources.secrets, object},
		{&n.others, i.sources.others, object},
		{&n.aggregates, i.sources.aggregates, object},
		{&n.records, i.sources.records, object},
		{&n.configurations, i.sources.configurations, configuration},
	} {
		*set.up = &observed{source: set.source}
		if err := (*set.up).watch(name, set.handler, n.refusals.report(set.source)); err != nil {
			return nil, fmt.Errorf("read namespace %s: %w", name, err)
		}
	}
	return n, nil
}

// namespaceSource is about Namespaces themselves; only those that have opted in are asked for.
func namespaceSource(clients Clients) *source {
	namespaces := clients.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	return metadataSource("Namespaces", clients.Metadata, namespaces, func(opts *metav1.ListOptions) {
		opts.LabelSelector = trust.LabelManaged + "=" + trust.ManagedValue
	}, consent)
}
