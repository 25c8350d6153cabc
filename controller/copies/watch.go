// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// watches observe the metadata of objects with the label of a copy, and of Namespaces. They transfer no content.
type watches struct {
	// only are the watched namespaces, each with informers of its own. If empty, one informer watches all namespaces,
	// and another the Namespaces themselves, which a Role in a namespace cannot allow.
	only       []string
	copies     map[configv1alpha1.CopyKind]map[string]cache.SharedIndexInformer
	namespaces cache.SharedIndexInformer
}

// newWatches creates the informers. Without a client there are none, and everything is read live.
func newWatches(client metadata.Interface, only []string, c *Controller) (*watches, error) {
	w := &watches{only: only, copies: map[configv1alpha1.CopyKind]map[string]cache.SharedIndexInformer{}}
	if client == nil {
		return w, nil
	}
	in := only
	if len(in) == 0 {
		in = []string{metav1.NamespaceAll}
	}
	for kind, resource := range map[configv1alpha1.CopyKind]string{
		configv1alpha1.CopySecret: "secrets", configv1alpha1.CopyConfigMap: "configmaps",
	} {
		tell := func(object metav1.Object) {
			c.changed(target{kind: kind, namespace: object.GetNamespace(), name: object.GetName()}, object)
		}
		w.copies[kind] = map[string]cache.SharedIndexInformer{}
		for _, namespace := range in {
			informer, err := watchMetadata(client, resource, namespace, func(opts *metav1.ListOptions) { opts.LabelSelector = trust.LabelCopyOf }, tell)
			if err != nil {
				return nil, err
			}
			w.copies[kind][namespace] = informer
		}
	}
	if len(only) > 0 {
		return w, nil
	}
	var err error
	w.namespaces, err = watchMetadata(client, "namespaces", metav1.NamespaceAll, nil, func(object metav1.Object) { c.consentChanged(object.GetName()) })
	return w, err
}

func watchMetadata(
	client metadata.Interface, resource, namespace string, restrict func(*metav1.ListOptions), tell func(metav1.Object),
) (cache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource(resource),
		namespace, 0, cache.Indexers{}, restrict).Informer()
	if err := informer.SetTransform(consentOnly); err != nil {
		return nil, fmt.Errorf("watch the metadata of %s: %w", resource, err)
	}
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if meta, ok := object.(metav1.Object); ok {
			tell(meta)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	}); err != nil {
		return nil, fmt.Errorf("watch the metadata of %s: %w", resource, err)
	}
	return informer, nil
}

// consentOnly drops all metadata that the controller does not use.
func consentOnly(object any) (any, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Labels:      chosen(meta.Labels, trust.LabelCopyOf, trust.LabelManaged),
		Annotations: chosen(meta.Annotations, trust.AnnotationCopyOf, trust.CopiesFrom),
	}}, nil
}

func chosen(all map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := all[key]; ok {
			out = with(out, map[string]string{key: value})
		}
	}
	return out
}

func (w *watches) run(ctx context.Context, running *sync.WaitGroup) {
	for _, informers := range w.copies {
		for _, informer := range informers {
			running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
	if w.namespaces != nil {
		running.Go(func() { w.namespaces.RunWithContext(ctx) })
	}
}

// sync waits for the first lists of the copies, or for the end of ctx. It need not wait for Namespaces: one that is
// not observed is read live.
func (w *watches) sync(ctx context.Context) {
	var done []cache.DoneChecker
	for _, informers := range w.copies {
		for _, informer := range informers {
			done = append(done, informer.HasSyncedChecker())
		}
	}
	cache.WaitFor(ctx, "", done...)
}

// named reports whether the installation names a namespace, which is then managed without a label.
func (w *watches) named(namespace string) bool { return slices.Contains(w.only, namespace) }

// covers reports whether the controller may write to a namespace.
func (w *watches) covers(namespace string) bool {
	return len(w.only) == 0 || w.named(namespace)
}

// of is the informer of a namespace, nil if there is none.
func of(informers map[string]cache.SharedIndexInformer, namespace string) cache.SharedIndexInformer {
	if informer := informers[metav1.NamespaceAll]; informer != nil {
		return informer
	}
	return informers[namespace]
}

// sees reports whether the watches would show a copy if it existed.
func (w *watches) sees(t target) bool {
	if t.cluster != "" {
		return false
	}
	informer := of(w.copies[t.kind], t.namespace)
	return informer != nil && informer.HasSynced()
}

// version is the last observed resource version of a copy, "" if there is none.
func (w *watches) version(t target) string {
	if t.cluster != "" {
		return ""
	}
	if object := stored(of(w.copies[t.kind], t.namespace), cache.NewObjectName(t.namespace, t.name).String()); object != nil {
		return object.GetResourceVersion()
	}
	return ""
}

// namespace is the last observed metadata of a Namespace, nil if there is none.
func (w *watches) namespace(name string) metav1.Object {
	return stored(w.namespaces, name)
}

func stored(informer cache.SharedIndexInformer, key string) metav1.Object {
	if informer == nil {
		return nil
	}
	object, found, err := informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return nil
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return nil
	}
	return meta
}
