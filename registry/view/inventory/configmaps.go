// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// configMaps reads the ConfigMaps of a namespace that has a configuration; those of other namespaces are not watched.
type configMaps struct {
	observed
	// ready is closed after the namespace has been announced as known.
	ready chan struct{}
	// ended is done when the namespace has lost its last configuration, is not managed any more, or everything ends.
	ended context.Context //nolint:containedctx // it is the life of the informer, not of a call
	stop  context.CancelCauseFunc
}

// follow reads the ConfigMaps of a namespace if, and only if, it has a configuration. It is called only on the
// goroutine of the informer of the configurations, for which Wait waits.
func (i *Inventory) follow(n *namespace) {
	switch maps := n.ofConfigMaps(); {
	case !n.configured():
		n.dropConfigMaps()
	case maps == nil:
		i.readConfigMaps(n)
	}
}

func (n *namespace) dropConfigMaps() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.configMaps != nil {
		n.configMaps.stop(errUnconfigured)
		n.refusals.accept(n.configMaps.source.name, "watch")
		n.configMaps = nil
	}
}

func (i *Inventory) readConfigMaps(n *namespace) {
	maps := &configMaps{observed: observed{source: i.sources.configMaps}, ready: make(chan struct{})}
	maps.ended, maps.stop = context.WithCancelCause(n.ended)
	if err := maps.watch(n.name, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { i.announce(n) },
		UpdateFunc: func(before, after any) { i.updated(n, before, after) },
		DeleteFunc: func(any) { i.announce(n) },
	}, n.refusals.report(maps.source)); err != nil {
		// A new informer refuses neither a transform nor a handler. The namespace would stay unknown, which stops
		// everything in it.
		klog.FromContext(n.ended).Error(err, "Failed to begin to read the ConfigMaps of a namespace", "namespace", n.name)
		return
	}
	n.mu.Lock()
	n.configMaps = maps
	n.mu.Unlock()
	i.running.Go(func() { maps.informer.RunWithContext(maps.ended) })
	i.running.Go(func() {
		for _, listed := range []<-chan struct{}{maps.listed.Done(), n.listed} {
			select {
			case <-listed:
			case <-maps.ended.Done():
				return
			}
		}
		if i.current(n) {
			i.memory.forget(n.name)
			i.tell(n.name)
		}
		close(maps.ready)
	})
}
