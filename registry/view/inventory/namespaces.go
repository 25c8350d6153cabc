// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// namespaceInformers are the informers of ConfigMaps, one for each namespace that has a configuration: nobody watches all
// ConfigMaps of a cluster. The zero value is ready for start.
type namespaceInformers struct {
	mu sync.Mutex
	// ctx is that of Start: what is started later ends with it.
	ctx context.Context
	// watched by namespace.
	watched map[string]*namespaceInformer
}

// namespaceInformer reads the ConfigMaps of one namespace.
type namespaceInformer struct {
	namespace string
	informer  cache.SharedIndexInformer
	// listed is done when the first list has been handled.
	listed cache.DoneChecker
	// ready is closed after the namespace has been announced as known.
	ready chan struct{}
	// ended is done when the namespace has lost its last configuration, or everything ends.
	ended context.Context
	stop  context.CancelCauseFunc
}

// errUnconfigured ends the informer of a namespace that has lost its last configuration.
var errUnconfigured = errors.New("the namespace has no configuration any more")

func (n *namespaceInformers) start(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ctx, n.watched = ctx, map[string]*namespaceInformer{}
}

// of returns the informer of a namespace, nil if there is none.
func (n *namespaceInformers) of(namespace string) *namespaceInformer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.watched[namespace]
}

// unready returns one that is not ready yet, nil if there is none.
func (n *namespaceInformers) unready() *namespaceInformer {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.watched {
		if !w.isReady() {
			return w
		}
	}
	return nil
}

// known are the namespaces whose ConfigMaps have been listed, ordered.
func (n *namespaceInformers) known() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var known []string
	for _, namespace := range slices.Sorted(maps.Keys(n.watched)) {
		if cache.IsDone(n.watched[namespace].listed) {
			known = append(known, namespace)
		}
	}
	return known
}

// add remembers an informer that lives until drop, or until everything ends.
func (n *namespaceInformers) add(namespace string, informer cache.SharedIndexInformer, listed cache.DoneChecker) *namespaceInformer {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &namespaceInformer{namespace: namespace, informer: informer, listed: listed, ready: make(chan struct{})}
	w.ended, w.stop = context.WithCancelCause(n.ctx)
	n.watched[namespace] = w
	return w
}

// drop ends the informer of a namespace, if it has one.
func (n *namespaceInformers) drop(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.watched[namespace]; w != nil {
		w.stop(errUnconfigured)
		delete(n.watched, namespace)
	}
}

func (w *namespaceInformer) isReady() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// wait returns when the namespace is ready or of no concern any more. It fails when ctx ends first.
func (w *namespaceInformer) wait(ctx context.Context) error {
	var cause error
	select {
	case <-w.ready:
		return nil
	case <-w.ended.Done():
		cause = context.Cause(w.ended) //nolint:contextcheck // it is the end of the informer that is told, not of the caller
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if errors.Is(cause, errUnconfigured) {
		return nil
	}
	return fmt.Errorf("list the ConfigMaps of namespace %s: %w", w.namespace, cause)
}

// follow has the ConfigMaps of a namespace read if, and only if, it has a configuration. It is called on the goroutine of
// the configurations' informer only, which is one of those that Wait waits for.
func (i *Inventory) follow(namespace string) {
	switch w := i.configMaps.of(namespace); {
	case !i.configured(namespace):
		i.configMaps.drop(namespace)
	case w == nil:
		i.readConfigMaps(namespace)
	}
}

func (i *Inventory) readConfigMaps(namespace string) {
	informer, listed, err := i.sources.configMaps.informer(namespace, i.objectHandler())
	if err != nil {
		// A new informer refuses neither a transform nor a handler. The namespace would stay unknown, which stops
		// everything in it.
		klog.FromContext(i.configMaps.ctx).Error(err, "Failed to begin to read the ConfigMaps of a namespace", "namespace", namespace)
		return
	}
	w := i.configMaps.add(namespace, informer, listed)
	i.running.Go(func() { informer.RunWithContext(w.ended) })
	i.running.Go(func() {
		select {
		case <-listed.Done():
		case <-w.ended.Done():
			return
		}
		i.memory.forget(namespace)
		i.tell(namespace)
		close(w.ready)
	})
}
