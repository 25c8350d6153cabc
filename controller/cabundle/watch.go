// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
)

// watches observe the metadata of the targets, by kind.
type watches map[configv1alpha1.InjectionKind]cache.SharedIndexInformer

// bySource indexes targets by the namespace of the bundle that they ask for.
const bySource = "source"

func (c *Controller) newWatches() (watches, error) {
	w := watches{}
	indexers := cache.Indexers{bySource: func(object any) ([]string, error) {
		if source, _ := c.sourceOf(object); source != nil {
			return []string{source.Namespace}, nil
		}
		return nil, nil
	}}
	for _, kind := range c.kinds() {
		informer := metadatainformer.NewFilteredMetadataInformer(c.cfg.Metadata, injection.Resources[kind], metav1.NamespaceAll, 0,
			indexers, c.restrict).Informer()
		if err := informer.SetTransform(annotationsOnly); err != nil {
			return nil, fmt.Errorf("watch the metadata of every %s: %w", kind, err)
		}
		changed := func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if meta, ok := object.(metav1.Object); ok {
				c.queue.Add(key{target: target{Kind: string(kind), Name: meta.GetName()}})
			}
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
		}); err != nil {
			return nil, fmt.Errorf("watch the metadata of every %s: %w", kind, err)
		}
		w[kind] = informer
	}
	return w, nil
}

// restrict limits the watch to the objects that the controller has the right to watch.
func (c *Controller) restrict(opts *metav1.ListOptions) {
	if !c.cfg.Every {
		opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", OwnAPIService).String()
	}
}

// annotationsOnly drops all metadata that the controller does not use.
func annotationsOnly(object any) (any, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	kept := metav1.ObjectMeta{Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
	for _, name := range []string{injection.Annotation, injection.AnnotationCertManager} {
		if value, ok := meta.Annotations[name]; ok {
			metav1.SetMetaDataAnnotation(&kept, name, value)
		}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: kept}, nil
}

func (c *Controller) sourceOf(object any) (*injection.Source, string) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return nil, ""
	}
	return injection.SourceOf(meta.GetAnnotations(), c.cfg.CertManager)
}

// seen is the last observed metadata of a target, nil if it does not exist.
func (c *Controller) seen(t target) metav1.Object {
	informer := c.watches[configv1alpha1.InjectionKind(t.Kind)]
	if informer == nil {
		return nil
	}
	object, found, err := informer.GetStore().GetByKey(t.Name)
	if err != nil || !found {
		return nil
	}
	meta, _ := object.(metav1.Object)
	return meta
}

func (c *Controller) from(namespace string) ([]target, error) {
	var out []target
	for kind, informer := range c.watches {
		objects, err := informer.GetIndexer().ByIndex(bySource, namespace)
		if err != nil {
			return nil, fmt.Errorf("find every %s that takes its bundle from %s: %w", kind, namespace, err)
		}
		for _, object := range objects {
			if meta, ok := object.(metav1.Object); ok {
				out = append(out, target{Kind: string(kind), Name: meta.GetName()})
			}
		}
	}
	return out, nil
}
