// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// podConfig returns the configuration of a store of upstream's example pods, without epochs.
func podConfig() Config {
	return Config{
		Resource:       schema.GroupResource{Resource: "pods"},
		ResourcePrefix: "/pods",
		NewFunc:        func() runtime.Object { return &example.Pod{} },
		NewListFunc:    func() runtime.Object { return &example.PodList{} },
		GetAttrs: func(obj runtime.Object) (labels.Set, fields.Set, error) {
			pod := obj.(*example.Pod)
			return pod.Labels, fields.Set{
				"metadata.name":      pod.Name,
				"metadata.namespace": pod.Namespace,
				"spec.nodeName":      pod.Spec.NodeName,
			}, nil
		},
	}
}

// startStore returns a started store that is not marked as synced. The store stops when the test ends.
func startStore(tb testing.TB, cfg Config) *Store {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	tb.Cleanup(s.Stop)
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatalf("Start: %v", err)
	}
	return s
}

// syncedStore returns a store that serves reads.
func syncedStore(tb testing.TB, cfg Config) *Store {
	tb.Helper()
	s := startStore(tb, cfg)
	s.MarkSynced()
	return s
}

func pod(namespace, name string, mutate ...func(*example.Pod)) *example.Pod {
	p := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, f := range mutate {
		f(p)
	}
	return p
}

func onNode(node string) func(*example.Pod) {
	return func(p *example.Pod) { p.Spec.NodeName = node }
}

func set(p *example.Pod) Change {
	return Change{Key: p.Namespace + "/" + p.Name, Object: p}
}

func remove(namespace, name string) Change {
	return Change{Key: namespace + "/" + name}
}

func mustApply(tb testing.TB, s *Store, changes ...Change) uint64 {
	tb.Helper()
	revision, err := s.Apply(changes)
	if err != nil {
		tb.Fatalf("Apply: %v", err)
	}
	return revision
}

// everything selects all objects below a prefix.
func everything(mutate ...func(*storage.ListOptions)) storage.ListOptions {
	opts := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	for _, f := range mutate {
		f(&opts)
	}
	return opts
}

func fromVersion(resourceVersion string) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.ResourceVersion = resourceVersion }
}

func matching(match metav1.ResourceVersionMatch) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.ResourceVersionMatch = match }
}

func selecting(field string) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.Predicate.Field = fields.ParseSelectorOrDie(field) }
}

func withBookmarks(o *storage.ListOptions) {
	o.Predicate.AllowWatchBookmarks = true
}

func mustWatch(ctx context.Context, tb testing.TB, s *Store, opts storage.ListOptions) watch.Interface {
	tb.Helper()
	w, err := s.Watch(ctx, "/pods", opts)
	if err != nil {
		tb.Fatalf("Watch: %v", err)
	}
	tb.Cleanup(w.Stop)
	return w
}

// received waits for an event and unwraps shared objects.
func received(tb testing.TB, w watch.Interface) (watch.Event, bool) {
	tb.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if shared, is := e.Object.(runtime.CacheableObject); is {
			e.Object = shared.GetObject()
		}
		return e, ok
	case <-time.After(30 * time.Second):
		tb.Fatal("no event within 30 s")
		return watch.Event{}, false
	}
}

// statusReason returns the reason of an ERROR event, "" for any other event.
func statusReason(e watch.Event) metav1.StatusReason {
	status, ok := e.Object.(*metav1.Status)
	if !ok || e.Type != watch.Error {
		return ""
	}
	return status.Reason
}
