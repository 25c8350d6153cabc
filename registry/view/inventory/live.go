// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// Live returns the Sources of a namespace from the API server itself, for decisions that cannot be undone. It lists
// page by page, with consistent reads, the namespace's Secrets and ConfigMaps and the nodes. Certificates that are
// known are not parsed again. The lists are not of one moment: what changes in between may be in one and not in
// another, as in the cached Sources.
func (i *Inventory) Live(ctx context.Context, namespace string) (*Sources, error) {
	var f found
	for _, read := range []struct {
		source *source
		into   *[]any
	}{
		{i.sources.secrets, &f.secrets},
		{i.sources.others, &f.others},
		{i.sources.aggregates, &f.aggregates},
		{i.sources.configMaps, &f.configMaps},
		{i.sources.nodes, &f.nodes},
	} {
		var err error
		if *read.into, err = read.source.live(ctx, namespace); err != nil {
			return nil, fmt.Errorf("list %s of namespace %s: %w", read.source.name, namespace, err)
		}
	}
	return assemble(namespace, i.certs, &f), nil
}

// live lists a source and keeps the facts.
func (s *source) live(ctx context.Context, namespace string) ([]any, error) {
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return s.list(ctx, namespace, opts)
	})
	// One page at a time, so that few Secrets are in memory at once.
	pages.PageBufferSize = 0
	var opts metav1.ListOptions
	s.restrict(&opts)
	var out []any
	err := pages.EachListItem(ctx, opts, func(object runtime.Object) error {
		facts, err := s.keep(object)
		if err != nil {
			return err
		}
		out = append(out, facts)
		return nil
	})
	return out, err
}
