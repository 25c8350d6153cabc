// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// watches see the metadata of whatever is labelled as a copy. Their content is not transferred.
type watches map[configv1alpha1.CopyKind]cache.SharedIndexInformer

func newWatches(client metadata.Interface, changed func(target)) (watches, error) {
	w := watches{}
	for kind, resource := range map[configv1alpha1.CopyKind]string{
		configv1alpha1.CopySecret: "secrets", configv1alpha1.CopyConfigMap: "configmaps",
	} {
		informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource(resource),
			metav1.NamespaceAll, 0, cache.Indexers{}, func(opts *metav1.ListOptions) { opts.LabelSelector = trust.LabelCopyOf }).Informer()
		if err := informer.SetTransform(versionOnly); err != nil {
			return nil, fmt.Errorf("watch copies that are %s: %w", resource, err)
		}
		tell := func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if meta, ok := object.(metav1.Object); ok {
				changed(target{kind: kind, namespace: meta.GetNamespace(), name: meta.GetName()})
			}
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell,
		}); err != nil {
			return nil, fmt.Errorf("watch copies that are %s: %w", resource, err)
		}
		w[kind] = informer
	}
	return w, nil
}

// versionOnly keeps what is looked at.
func versionOnly(object any) (any, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
	}}, nil
}

func (w watches) run(ctx context.Context, running *sync.WaitGroup) {
	for _, informer := range w {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
}

// sync waits for the first lists; it says no when ctx ends first.
func (w watches) sync(ctx context.Context) bool {
	var done []cache.DoneChecker
	for _, informer := range w {
		done = append(done, informer.HasSyncedChecker())
	}
	return cache.WaitFor(ctx, "", done...)
}

// version is the resource version of a copy as last seen, "" if it is not seen.
func (w watches) version(t target) string {
	informer, ok := w[t.kind]
	if !ok {
		return ""
	}
	object, found, err := informer.GetStore().GetByKey(cache.NewObjectName(t.namespace, t.name).String())
	if err != nil || !found {
		return ""
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return ""
	}
	return meta.GetResourceVersion()
}
