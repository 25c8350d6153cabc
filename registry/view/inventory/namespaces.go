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

// namespaces are the managed ones: nothing is read in any other. The zero value is ready for start.
type namespaces struct {
	mu sync.Mutex
	// ctx is that of Start and ends everything that is started later.
	ctx context.Context //nolint:containedctx // namespaces come and go while everything runs
	all map[string]*namespace
}

// namespace reads one namespace.
type namespace struct {
	name string
	// One for each source, but for ConfigMaps.
	configurations, records, secrets, others, aggregates *observed
	// listed is closed when all of them have been listed and have been handled.
	listed chan struct{}
	// refusals are the reads that the API server refuses.
	refusals *refusals
	// ended is done when the namespace is not managed any more, or everything ends.
	ended context.Context //nolint:containedctx // it is the life of the namespace, not of a call
	stop  context.CancelCauseFunc

	mu sync.Mutex
	// configMaps are read while there is a configuration; nil if there is none.
	configMaps *configMaps
}

var (
	// ErrUnmanaged is the error for a namespace that has not opted in.
	ErrUnmanaged = errors.New("the namespace is not managed")
	// errUnconfigured ends the informer of a namespace's ConfigMaps when its last configuration is gone.
	errUnconfigured = errors.New("the namespace has no configuration any more")
)

func newNamespace(ctx context.Context, name string, parent *refusals) *namespace {
	n := &namespace{name: name, listed: make(chan struct{}), refusals: parent.of(name)}
	n.ended, n.stop = context.WithCancelCause(ctx)
	return n
}

func (n *namespaces) start(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ctx, n.all = ctx, map[string]*namespace{}
}

// of returns a namespace, nil if it is not managed.
func (n *namespaces) of(name string) *namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[name]
}

// list is ordered by name.
func (n *namespaces) list() []*namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*namespace, 0, len(n.all))
	for _, name := range slices.Sorted(maps.Keys(n.all)) {
		list = append(list, n.all[name])
	}
	return list
}

func (n *namespaces) add(one *namespace) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[one.name] = one
}

// drop stops reading a namespace and reports whether it was managed.
func (n *namespaces) drop(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.all[name]
	if one == nil {
		return false
	}
	delete(n.all, name)
	one.stop(ErrUnmanaged)
	one.refusals.end()
	return true
}

func (n *namespace) sources() []*observed {
	return []*observed{n.configurations, n.records, n.secrets, n.others, n.aggregates}
}

func (n *namespace) configured() bool {
	return len(n.configurations.informer.GetStore().ListKeys()) > 0
}

// known reports whether there is a configuration, and everything has been listed.
func (n *namespace) known() bool {
	maps := n.ofConfigMaps()
	return isClosed(n.listed) && maps != nil && cache.IsDone(maps.listed) && n.configured()
}

// pending is what the namespace still has to wait for before its facts are complete, nil if they are.
func (n *namespace) pending() *pending {
	if !isClosed(n.listed) {
		return &pending{what: "what is in namespace " + n.name, done: n.listed, ended: n.ended, refusals: n.refusals}
	}
	if maps := n.ofConfigMaps(); maps != nil && !isClosed(maps.ready) {
		return &pending{what: "ConfigMaps of namespace " + n.name, done: maps.ready, ended: maps.ended, refusals: n.refusals}
	}
	return nil
}

func (n *namespace) ofConfigMaps() *configMaps {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.configMaps
}

// found are the facts of the namespace. The ConfigMaps are left out until they have been listed.
func (n *namespace) found() *found {
	f := &found{
		configurations: n.configurations.informer.GetStore().List(),
		records:        n.records.informer.GetStore().List(),
		secrets:        n.secrets.informer.GetStore().List(),
		others:         n.others.informer.GetStore().List(),
		aggregates:     n.aggregates.informer.GetStore().List(),
	}
	if maps := n.ofConfigMaps(); maps != nil && cache.IsDone(maps.listed) {
		f.configMaps = maps.informer.GetStore().List()
	}
	return f
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

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

// pending is a source that has to be listed.
type pending struct {
	what string
	done <-chan struct{}
	// ended is the life of what lists, nil if it is that of everything.
	ended    context.Context //nolint:containedctx // it is not that of a call
	refusals *refusals
}

// wait returns when the source is listed, is no longer needed, or when the API server has started or stopped refusing
// something. It fails when ctx or the inventory ends first.
func (p *pending) wait(ctx context.Context, turned <-chan struct{}) error {
	var (
		cause error
		ended <-chan struct{}
	)
	if p.ended != nil {
		ended = p.ended.Done()
	}
	select {
	case <-p.done:
		return nil
	case <-turned:
		return nil
	case <-ended:
		cause = context.Cause(p.ended) //nolint:contextcheck // it is the end of what lists that is told, not of the caller
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if errors.Is(cause, errUnconfigured) || errors.Is(cause, ErrUnmanaged) {
		return nil
	}
	return fmt.Errorf("list %s: %w", p.what, cause)
}
