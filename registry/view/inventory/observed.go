// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// observed is a source that is watched, in one namespace or in the whole cluster.
//
// It has one handler, called in the order of the events after the store has changed. A shared informer, which serves
// several handlers, would cost four more goroutines and a ring of 16 KiB per watch.
type observed struct {
	source *source
	store  cache.Store
	cache.Controller
	// listed is done when the handler has seen the first list.
	listed cache.DoneChecker
}

// observe sets up the watch; RunWithContext starts it. report receives the result of each list and watch request.
func observe(s *source, namespace string, handler cache.ResourceEventHandler, report func(ctx context.Context, verb string, err error)) *observed {
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		Name: s.name, KeyFunction: cache.MetaNamespaceKeyFunc, KnownObjects: store, Transformer: s.keep,
	})
	controller := cache.New(&cache.Config{
		Queue: queue,
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				s.restrict(&opts)
				list, err := s.list(ctx, namespace, opts)
				report(ctx, "list", err)
				return list, err
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				s.restrict(&opts)
				events, err := s.watch(ctx, namespace, opts)
				report(ctx, "watch", err)
				return events, err
			},
		}, s.client),
		ObjectType:                   s.example,
		ObjectDescription:            s.name,
		WatchErrorHandlerWithContext: watchFailed,
		Process: func(popped any, initial bool) error {
			deltas, ok := popped.(cache.Deltas)
			if !ok {
				return fmt.Errorf("the queue of %s has a %T", s.name, popped)
			}
			for _, delta := range deltas {
				if err := apply(store, handler, delta, initial); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return &observed{source: s, store: store, Controller: controller, listed: queue.HasSyncedChecker()}
}

// apply applies a change to a store, and then calls the handler.
func apply(store cache.Store, handler cache.ResourceEventHandler, delta cache.Delta, initial bool) error {
	before, exists, err := store.Get(delta.Object)
	switch {
	case err != nil:
		return fmt.Errorf("look up what has changed: %w", err)
	case delta.Type == cache.Deleted:
		if err := store.Delete(delta.Object); err != nil {
			return fmt.Errorf("remove what was deleted: %w", err)
		}
		handler.OnDelete(delta.Object)
		return nil
	}
	// Every other type of delta carries the current object.
	if err := store.Update(delta.Object); err != nil {
		return fmt.Errorf("keep what has changed: %w", err)
	}
	if exists {
		handler.OnUpdate(before, delta.Object)
	} else {
		handler.OnAdd(delta.Object, initial)
	}
	return nil
}
