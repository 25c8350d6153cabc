// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/registry/pki"
)

// defaultPKICacheEntries holds the chains and bundles of some 10,000 certificates.
const defaultPKICacheEntries = 32768

// Options of an Inventory.
type Options struct {
	// PKICacheEntries is how many parsed PEMs are shared. Defaults to 32768.
	PKICacheEntries int
}

// Inventory watches a cluster and answers with the facts of its namespaces.
type Inventory struct {
	certs   *pki.Cache
	sources clusterSources
	// One informer for each of sources.
	secrets, others, aggregates, configMaps, nodes cache.SharedIndexInformer

	memory   memory
	onChange []func(namespace string)
	handlers []cache.DoneChecker
	running  sync.WaitGroup
}

// New returns an Inventory over two clients of one cluster: meta reads only the metadata of Secrets that are no
// certificates, so that their content is never transferred. It fails only if an informer refuses to be set up.
func New(client kubernetes.Interface, meta metadata.Interface, opts Options) (*Inventory, error) {
	certs := pki.NewCache(cmp.Or(opts.PKICacheEntries, defaultPKICacheEntries))
	i := &Inventory{certs: certs, sources: newClusterSources(client, meta, certs)}
	var err error
	add := func(s *source, handler cache.ResourceEventHandler) cache.SharedIndexInformer {
		if err != nil {
			return nil
		}
		var (
			informer cache.SharedIndexInformer
			done     cache.DoneChecker
		)
		informer, done, err = s.informer(handler)
		i.handlers = append(i.handlers, done)
		return informer
	}
	object := cache.ResourceEventHandlerFuncs{AddFunc: i.changed, UpdateFunc: i.updated, DeleteFunc: i.changed}
	node := cache.ResourceEventHandlerFuncs{AddFunc: i.nodeChanged, UpdateFunc: i.nodeUpdated, DeleteFunc: i.nodeChanged}
	i.secrets = add(i.sources.secrets, object)
	i.others = add(i.sources.others, object)
	i.aggregates = add(i.sources.aggregates, object)
	i.configMaps = add(i.sources.configMaps, object)
	i.nodes = add(i.sources.nodes, node)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// OnChange has fn called after each change of what is known of a namespace that has, or had, a configuration; a change
// of a node counts for all of them. It must be called before Start. fn runs on an informer's goroutine and must not
// block.
func (i *Inventory) OnChange(fn func(namespace string)) {
	i.onChange = append(i.onChange, fn)
}

// Start runs the informers until ctx ends, and returns. It is called once.
func (i *Inventory) Start(ctx context.Context) {
	for _, informer := range []cache.SharedIndexInformer{i.secrets, i.others, i.aggregates, i.configMaps, i.nodes} {
		i.running.Go(func() { informer.RunWithContext(ctx) })
	}
}

// Wait returns when everything that Start has started has ended.
func (i *Inventory) Wait() { i.running.Wait() }

// HasSynced says whether everything has been listed once and every change of that has been announced.
func (i *Inventory) HasSynced() bool {
	return !slices.ContainsFunc(i.handlers, func(handler cache.DoneChecker) bool { return !cache.IsDone(handler) })
}

// WaitForSync waits for HasSynced. It fails when ctx ends first.
func (i *Inventory) WaitForSync(ctx context.Context) error {
	if !cache.WaitFor(ctx, "", i.handlers...) {
		return fmt.Errorf("list Secrets, ConfigMaps and Nodes: %w", context.Cause(ctx))
	}
	return nil
}

// Namespaces are those with at least one configuration, ordered.
func (i *Inventory) Namespaces() []string {
	return slices.Sorted(slices.Values(i.configMaps.GetIndexer().ListIndexFuncValues(configurationIndex)))
}

// Sources returns what is known of a namespace, nil if nothing is.
func (i *Inventory) Sources(namespace string) *Sources {
	if s, _ := i.memory.get(namespace, i.look); s != nil {
		return s
	}
	s := i.snapshot(namespace)
	if len(s.Secrets) == 0 && len(s.Others) == 0 && len(s.ConfigMaps) == 0 {
		return nil
	}
	return s
}

// Namespace returns Build of the namespace's Sources, nil if it has no configuration. The answer is kept until a source
// changes.
func (i *Inventory) Namespace(namespace string) *Namespace {
	_, n := i.memory.get(namespace, i.look)
	return n
}

// look takes the snapshot that is remembered, nil for a namespace without a configuration.
func (i *Inventory) look(namespace string) *Sources {
	if !i.configured(namespace) {
		return nil
	}
	return i.snapshot(namespace)
}

func (i *Inventory) configured(namespace string) bool {
	// The index exists, so this does not fail.
	keys, _ := i.configMaps.GetIndexer().IndexKeys(configurationIndex, namespace)
	return len(keys) > 0
}

func (i *Inventory) snapshot(namespace string) *Sources {
	in := func(informer cache.SharedIndexInformer) []any {
		// The index exists, so this does not fail.
		objects, _ := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
		return objects
	}
	return assemble(namespace, i.certs, &found{
		secrets:    in(i.secrets),
		others:     in(i.others),
		aggregates: in(i.aggregates),
		configMaps: in(i.configMaps),
		nodes:      i.nodes.GetStore().List(),
	})
}
