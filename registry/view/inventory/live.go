// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// liveTimeout bounds all reads of one Live: an API server that does not answer is no reason to hold a worker, or a review.
const liveTimeout = time.Minute

// outOfTime says that it is the time which has ended, nil if it has not.
func outOfTime(ctx context.Context) error {
	if ctx.Err() == nil || context.Cause(ctx) == ctx.Err() {
		return nil
	}
	return context.Cause(ctx)
}

// Live returns the Sources of a namespace from the API server itself, for decisions that cannot be undone. It lists
// page by page, with consistent reads, everything of the namespace and the nodes. Certificates that are
// known are not parsed again. The lists are not of one moment: what changes in between may be in one and not in
// another, as in the cached Sources.
func (i *Inventory) Live(ctx context.Context, namespace string) (*Sources, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("live reads are not over after %s", liveTimeout))
	defer cancel()
	var (
		f     found
		known = cache.NewStore(cache.MetaNamespaceKeyFunc)
	)
	if w := i.configMaps.of(namespace); w != nil {
		known = w.informer.GetStore()
	}
	for _, read := range []struct {
		source *source
		cached cache.Store
		into   *[]any
	}{
		{i.sources.configurations, i.configurations.GetStore(), &f.configurations},
		{i.sources.records, i.records.GetStore(), &f.records},
		{i.sources.secrets, i.secrets.GetStore(), &f.secrets},
		{i.sources.others, i.others.GetStore(), &f.others},
		{i.sources.aggregates, i.aggregates.GetStore(), &f.aggregates},
		{i.sources.configMaps, known, &f.configMaps},
		{i.sources.nodes, i.nodes.GetStore(), &f.nodes},
	} {
		var err error
		if *read.into, err = read.source.live(ctx, namespace, read.cached); err != nil {
			return nil, fmt.Errorf("list %s of namespace %s: %w", read.source.name, namespace, errors.Join(err, outOfTime(ctx)))
		}
	}
	return assemble(namespace, i.certs, &f), nil
}

// live lists a source and keeps the facts. What is cached at the same version is not parsed again: a review that reads
// live costs the API server a list, but neither side the verification of every pair.
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

// knownAt returns the cached facts of an object if they are of this very version of it, nil otherwise.
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
