// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// liveTimeout bounds all reads of one Live, so that a silent API server does not hold a worker or a review.
const liveTimeout = time.Minute

// outOfTime returns the cause if a timeout with a cause ended ctx, nil otherwise.
func outOfTime(ctx context.Context) error {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), ctx.Err()) {
		return nil
	}
	return context.Cause(ctx)
}

// Live returns the Sources of a namespace from the API server, for decisions that cannot be undone. It lists
// everything of the namespace, the nodes and the classes page by page, with consistent reads. It does not parse known
// certificates again. The lists are not of one moment: a change in between may be in one and not in another, as in
// the cached Sources. For a namespace that is not managed it reads nothing and returns ErrUnmanaged.
func (i *Inventory) Live(ctx context.Context, namespace string) (*Sources, error) {
	n := i.managed.of(namespace)
	if n == nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, ErrUnmanaged)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("live reads are not over after %s", liveTimeout))
	defer cancel()
	var f found
	reading := n.ofDemanded()
	configMaps := cachedIn(reading[demand{}])
	for _, read := range []struct {
		source *source
		cached cache.Store
		into   *[]any
	}{
		{i.sources.configurations, n.configurations.store, &f.configurations},
		{i.sources.records, n.records.store, &f.records},
		{i.sources.secrets, n.secrets.store, &f.secrets},
		{i.sources.others, n.others.store, &f.others},
		{i.sources.aggregates, n.aggregates.store, &f.aggregates},
		{i.sources.configMaps, configMaps, &f.configMaps},
	} {
		var err error
		if *read.into, err = read.source.live(ctx, namespace, read.cached); err != nil {
			return nil, fmt.Errorf("list %s of namespace %s: %w", read.source.name, namespace, errors.Join(err, outOfTime(ctx)))
		}
	}
	if err := i.liveDemands(ctx, namespace, reading, &f); err != nil {
		return nil, err
	}
	var err error
	f.nodes, err = i.sources.nodes.live(ctx, metav1.NamespaceAll, i.nodes.store)
	// An installation that names its namespaces needs no right to list nodes if no configuration depends on them.
	f.nodesUnknown = i.named() && apierrors.IsForbidden(err)
	if err != nil && !f.nodesUnknown {
		return nil, fmt.Errorf("list Nodes: %w", errors.Join(err, outOfTime(ctx)))
	}
	f.classes, err = i.sources.classes.live(ctx, metav1.NamespaceAll, i.classes.store)
	// One whose configurations need no class may do without the definition, too.
	if err != nil && (!i.named() || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err)) {
		return nil, fmt.Errorf("list StaticPodClasses: %w", errors.Join(err, outOfTime(ctx)))
	}
	return i.measured(assemble(namespace, i.certs, &f)), nil
}

// cachedIn returns the cache of a demanded source, an empty one if it is not read.
func cachedIn(r *demanded) cache.Store {
	if r == nil {
		return cache.NewStore(cache.MetaNamespaceKeyFunc)
	}
	return r.store
}

// liveDemands lists what the configurations demand, as those were listed just now.
func (i *Inventory) liveDemands(ctx context.Context, namespace string, reading map[demand]*demanded, f *found) error {
	f.selectors = map[string]bool{}
	for _, key := range slices.SortedFunc(maps.Keys(demandsOf(f.configurations)), compareDemands) {
		if key == (demand{}) {
			continue
		}
		source := i.sourceOf(key)
		objects, err := source.live(ctx, namespace, cachedIn(reading[key]))
		if err != nil {
			return fmt.Errorf("list %s of namespace %s: %w", source.name, namespace, errors.Join(err, outOfTime(ctx)))
		}
		f.add(key, objects)
	}
	return nil
}

// live lists a source and returns the facts. It does not parse an object again that is cached at the same version: a
// live read costs the API server a list, but neither side the verification of every pair.
func (s *source) live(ctx context.Context, namespace string, cached cache.Store) ([]any, error) {
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return s.list(ctx, namespace, opts)
	})
	// One page at a time, so that few Secrets are in memory at once.
	pages.PageBufferSize = 0
	var opts metav1.ListOptions
	s.restrict(&opts)
	var out []any
	err := pages.EachListItem(ctx, opts, func(object runtime.Object) error {
		if known := knownAt(cached, object); known != nil {
			out = append(out, known)
			return nil
		}
		facts, err := s.keep(object)
		if err != nil {
			return err
		}
		out = append(out, facts)
		return nil
	})
	return out, err
}

// knownAt returns the cached facts of exactly this version of an object, nil if there are none.
func knownAt(cached cache.Store, object runtime.Object) any {
	live, err := meta.Accessor(object)
	if err != nil || live.GetResourceVersion() == "" {
		return nil
	}
	facts, ok, err := cached.GetByKey(cache.NewObjectName(live.GetNamespace(), live.GetName()).String())
	if err != nil || !ok {
		return nil
	}
	known, err := meta.Accessor(facts)
	if err != nil || known.GetUID() != live.GetUID() || known.GetResourceVersion() != live.GetResourceVersion() {
		return nil
	}
	return facts
}
