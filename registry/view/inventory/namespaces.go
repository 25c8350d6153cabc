// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
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
