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
)

// namespaces are the managed ones: nothing is read in any other. The zero value is ready for start.
type namespaces struct {
	mu sync.Mutex
	// ctx is the context of Start and ends everything that starts later.
	ctx context.Context //nolint:containedctx // namespaces come and go while everything runs
	all map[string]*namespace
}

type namespace struct {
	name string
	// One for each source but ConfigMaps and Pods.
	configurations, records, secrets, others, aggregates *observed
	// listed is closed when all of them have been listed and handled.
	listed chan struct{}
	// refusals are the reads that the API server refuses.
	refusals *refusals
	// ended is done when the namespace is no longer managed, or the Inventory ends.
	ended context.Context //nolint:containedctx // it is the life of the namespace, not of a call
	stop  context.CancelCauseFunc

	mu sync.Mutex
	// demanded are the sources that are read while a configuration demands them.
	demanded map[demand]*demanded
}

var (
	// ErrUnmanaged is the error for a namespace that has not opted in.
	ErrUnmanaged = errors.New("the namespace is not managed")
	// errUnconfigured ends the informer of a source that no configuration of a namespace demands any more.
	errUnconfigured = errors.New("no configuration of the namespace demands it any more")
)

func newNamespace(ctx context.Context, name string, parent *refusals) *namespace {
	n := &namespace{name: name, listed: make(chan struct{}), refusals: parent.of(name), demanded: map[demand]*demanded{}}
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

// list returns the namespaces ordered by name.
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
	return len(n.configurations.store.ListKeys()) > 0
}

// known reports whether there is a configuration, and everything but the pods has been listed. The model handles pods
// that are not listed yet (trust.Party.Unlisted).
func (n *namespace) known() bool {
	if !isClosed(n.listed) || !n.configured() {
		return false
	}
	reading := n.ofDemanded()
	for key := range n.demands() {
		if r := reading[key]; key.kind != demandsPods && (r == nil || !cache.IsDone(r.listed)) {
			return false
		}
	}
	return true
}

// pending returns what the namespace waits for before its facts are complete, nil if they are.
func (n *namespace) pending() *pending {
	if !isClosed(n.listed) {
		return &pending{what: "what is in namespace " + n.name, done: n.listed, ended: n.ended, refusals: n.refusals}
	}
	for _, r := range n.ofDemanded() {
		if !isClosed(r.ready) {
			return &pending{what: r.source.name + " of namespace " + n.name, done: r.ready, ended: r.ended, refusals: n.refusals}
		}
	}
	return nil
}

// ofDemanded returns a copy.
func (n *namespace) ofDemanded() map[demand]*demanded {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.demanded)
}

// found returns the facts of the namespace. It leaves out a demanded source until that has been listed.
func (n *namespace) found() *found {
	f := &found{
		configurations: n.configurations.store.List(),
		records:        n.records.store.List(),
		secrets:        n.secrets.store.List(),
		others:         n.others.store.List(),
		aggregates:     n.aggregates.store.List(),
	}
	f.selectors = map[string]bool{}
	for key, r := range n.ofDemanded() {
		if cache.IsDone(r.listed) {
			f.add(key, r.store.List())
		}
	}
	return f
}

// add adds what a demanded source has listed.
func (f *found) add(key demand, objects []any) {
	switch key.kind {
	case demandsPods:
		f.pods = append(f.pods, objects...)
		f.selectors[key.selector] = true
	case demandsEditions:
		f.editions = append(f.editions, objects...)
	case demandsPasswords:
		f.passwords = append(f.passwords, objects...)
	default:
		f.configMaps = objects
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// demanded reads a source that a configuration demands; without one it is not watched.
type demanded struct {
	*observed
	// ready is closed after the namespace has been announced as known.
	ready chan struct{}
	// ended is done when no configuration demands the source any more, the namespace is no longer managed, or the
	// Inventory ends.
	ended context.Context //nolint:containedctx // it is the life of the informer, not of a call
	stop  context.CancelCauseFunc
}

// follow reads what the configurations of a namespace demand, and nothing else. It is called only on the goroutine of
// the configuration informer, which Wait waits for.
func (i *Inventory) follow(n *namespace) {
	demands := n.demands()
	n.drop(demands)
	reading := n.ofDemanded()
	for key := range demands {
		if reading[key] == nil {
			i.read(n, key)
		}
	}
}

// drop stops the sources that are no longer demanded.
func (n *namespace) drop(demands map[demand]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, r := range n.demanded {
		if !demands[key] {
			r.stop(errUnconfigured)
			n.refusals.accept(r.source, "watch")
			delete(n.demanded, key)
		}
	}
}

func (i *Inventory) read(n *namespace, key demand) {
	source := i.sourceOf(key)
	r := &demanded{observed: observe(source, n.name, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { i.announce(n) },
		UpdateFunc: func(before, after any) { i.updated(n, before, after) },
		DeleteFunc: func(any) { i.announce(n) },
	}, n.refusals.report(source)), ready: make(chan struct{})}
	r.ended, r.stop = context.WithCancelCause(n.ended)
	n.mu.Lock()
	n.demanded[key] = r
	n.mu.Unlock()
	i.running.Go(func() { r.RunWithContext(r.ended) })
	i.running.Go(func() {
		for _, listed := range []<-chan struct{}{r.listed.Done(), n.listed} {
			select {
			case <-listed:
			case <-r.ended.Done():
				return
			}
		}
		if i.current(n) {
			i.memory.forget(n.name)
			i.tell(n.name)
		}
		close(r.ready)
	})
}

// pending is a source that is not listed yet.
type pending struct {
	what string
	done <-chan struct{}
	// ended is the life of the informer, nil if that is the life of the Inventory.
	ended    context.Context //nolint:containedctx // it is not that of a call
	refusals *refusals
}

// wait returns when the source is listed or no longer needed, or when the API server starts or stops to refuse a
// read. It fails if ctx or the Inventory ends first.
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
