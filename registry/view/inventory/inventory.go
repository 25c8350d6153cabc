// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
)

// defaultPKICacheEntries holds the chains and bundles of some 10,000 certificates.
const defaultPKICacheEntries = 32768

// Options of an Inventory.
type Options struct {
	// PKICacheEntries is how many parsed PEMs are shared. Defaults to 32768.
	PKICacheEntries int
}

// Clients of one cluster.
type Clients struct {
	// Core reads Secrets, ConfigMaps and Nodes.
	Core kubernetes.Interface
	// Metadata reads of Secrets that are no certificates the metadata only: their content is never transferred.
	Metadata metadata.Interface
	// Config reads RotationConfigurations, RotationRecords and StaticPodClasses.
	Config versioned.Interface
}

// Inventory watches a cluster and answers with the facts of its namespaces.
//
// A namespace is known while it has a configuration and since its ConfigMaps have been listed; they are read nowhere else.
// Before that nothing is said of it, so that nobody takes a bundle for missing that was not listed yet.
type Inventory struct {
	certs   *pki.Cache
	sources clusterSources
	// One informer for each of sources, but for ConfigMaps, which have one for each namespace.
	configurations, records, secrets, others, aggregates, nodes, classes cache.SharedIndexInformer
	configMaps                                                           namespaceInformers

	memory   memory
	onChange []func(namespace string)
	handlers []cache.DoneChecker
	synced   atomic.Bool
	running  sync.WaitGroup
}

// New returns an Inventory. It fails only if an informer refuses to be set up.
func New(clients Clients, opts Options) (*Inventory, error) {
	certs := pki.NewCache(cmp.Or(opts.PKICacheEntries, defaultPKICacheEntries))
	i := &Inventory{certs: certs, sources: newClusterSources(clients, certs)}
	var err error
	add := func(s *source, handler cache.ResourceEventHandler) cache.SharedIndexInformer {
		if err != nil {
			return nil
		}
		var (
			informer cache.SharedIndexInformer
			done     cache.DoneChecker
		)
		informer, done, err = s.informer(metav1.NamespaceAll, handler)
		i.handlers = append(i.handlers, done)
		return informer
	}
	object := i.objectHandler()
	i.secrets = add(i.sources.secrets, object)
	i.others = add(i.sources.others, object)
	i.aggregates = add(i.sources.aggregates, object)
	i.records = add(i.sources.records, object)
	i.nodes = add(i.sources.nodes, cache.ResourceEventHandlerFuncs{
		AddFunc: i.nodeChanged, UpdateFunc: i.nodeUpdated, DeleteFunc: i.nodeChanged,
	})
	i.classes = add(i.sources.classes, cache.ResourceEventHandlerFuncs{
		AddFunc: i.nodeChanged, UpdateFunc: i.classUpdated, DeleteFunc: i.nodeChanged,
	})
	i.configurations = add(i.sources.configurations, cache.ResourceEventHandlerFuncs{
		AddFunc: i.configurationChanged, UpdateFunc: i.updated, DeleteFunc: i.configurationChanged,
	})
	if err != nil {
		return nil, err
	}
	return i, nil
}

// OnChange has fn called after each change of what is known of a namespace that has, or had, a configuration; a change
// of a node counts for all of them. It must be called before Start. fn runs on a goroutine of the Inventory and must not
// block.
func (i *Inventory) OnChange(fn func(namespace string)) {
	i.onChange = append(i.onChange, fn)
}

// Start runs the informers until ctx ends, and returns. It is called once.
func (i *Inventory) Start(ctx context.Context) {
	i.configMaps.start(ctx)
	for _, informer := range []cache.SharedIndexInformer{
		i.configurations, i.records, i.secrets, i.others, i.aggregates, i.nodes, i.classes,
	} {
		i.running.Go(func() { informer.RunWithContext(ctx) })
	}
}

// Wait returns when everything that Start has started has ended.
func (i *Inventory) Wait() { i.running.Wait() }

// HasSynced says whether everything has been listed once and every change of that has been announced. It stays true: what
// a namespace that gets its first configuration later has to wait for is that namespace's alone (Await).
func (i *Inventory) HasSynced() bool {
	if i.synced.Load() {
		return true
	}
	if slices.ContainsFunc(i.handlers, func(handler cache.DoneChecker) bool { return !cache.IsDone(handler) }) || i.configMaps.unready() != nil {
		return false
	}
	i.synced.Store(true)
	return true
}

// WaitForSync waits for HasSynced. It fails when ctx ends first.
func (i *Inventory) WaitForSync(ctx context.Context) error {
	if !cache.WaitFor(ctx, "", i.handlers...) {
		return fmt.Errorf("list configurations, records, Secrets and Nodes: %w", context.Cause(ctx))
	}
	for waiting := i.configMaps.unready(); waiting != nil; waiting = i.configMaps.unready() {
		if err := waiting.wait(ctx); err != nil {
			return err
		}
	}
	i.synced.Store(true)
	return nil
}

// Await waits until a namespace is known, if it has a configuration. It fails when ctx ends first.
func (i *Inventory) Await(ctx context.Context, namespace string) error {
	for w := i.configMaps.of(namespace); w != nil && !w.isReady(); w = i.configMaps.of(namespace) {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Namespaces are those that are known, ordered.
func (i *Inventory) Namespaces() []string { return i.configMaps.known() }

// Sources returns what is known of a namespace, nil if nothing is. Of one without a configuration the ConfigMaps are not
// known; one with a configuration is known entirely or not at all.
func (i *Inventory) Sources(namespace string) *Sources {
	if s, _ := i.memory.get(namespace, i.look); s != nil {
		return s
	}
	if i.configured(namespace) {
		return nil
	}
	s := i.snapshot(namespace, nil)
	if len(s.Secrets) == 0 && len(s.Others) == 0 && len(s.Records) == 0 {
		return nil
	}
	return s
}

// Namespace returns Build of the namespace's Sources, nil if it is not known. The answer is kept until a source changes.
func (i *Inventory) Namespace(namespace string) *Namespace {
	_, n := i.memory.get(namespace, i.look)
	return n
}

// look takes the snapshot that is remembered, nil for a namespace that is not known.
func (i *Inventory) look(namespace string) *Sources {
	w := i.configMaps.of(namespace)
	if w == nil || !cache.IsDone(w.listed) || !i.configured(namespace) {
		return nil
	}
	return i.snapshot(namespace, w.informer.GetStore())
}

func (i *Inventory) configured(namespace string) bool {
	// The index exists, so this does not fail.
	keys, _ := i.configurations.GetIndexer().IndexKeys(cache.NamespaceIndex, namespace)
	return len(keys) > 0
}

// snapshot takes the ConfigMaps from a store of the namespace's own; nil for none.
func (i *Inventory) snapshot(namespace string, configMaps cache.Store) *Sources {
	in := func(informer cache.SharedIndexInformer) []any {
		// The index exists, so this does not fail.
		objects, _ := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
		return objects
	}
	f := &found{
		configurations: in(i.configurations),
		records:        in(i.records),
		secrets:        in(i.secrets),
		others:         in(i.others),
		aggregates:     in(i.aggregates),
		nodes:          i.nodes.GetStore().List(),
		classes:        i.classes.GetStore().List(),
	}
	if configMaps != nil {
		f.configMaps = configMaps.List()
	}
	return assemble(namespace, i.certs, f)
}
