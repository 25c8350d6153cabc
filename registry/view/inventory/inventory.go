// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
)

// pkiCacheEntries is enough for the chains and bundles of some 10,000 certificates.
const pkiCacheEntries = 32768

// Options of an Inventory.
type Options struct {
	// Namespaces that are managed because the installation names them: then Namespaces are not watched, and rights
	// are needed in these only. If empty, those with the label trust.LabelManaged are managed, which is their owner's
	// consent.
	Namespaces []string
	// ClockSkew returns the skew of this process's clock without a request. If nil, the skew that the controller
	// recorded applies.
	ClockSkew func() time.Duration
	// Register registers the metrics; nil for none.
	Register func(metrics.Registerable) error
}

// Clients of one cluster.
type Clients struct {
	// Core reads Secrets, ConfigMaps, Pods and Nodes.
	Core kubernetes.Interface
	// Metadata reads only the metadata of Namespaces and of Secrets that are no certificates. It never transfers
	// content.
	Metadata metadata.Interface
	// Config reads RotationConfigurations, RotationRecords and StaticPodClasses.
	Config versioned.Interface
}

// Inventory watches the managed namespaces of a cluster and returns their facts.
//
// A namespace is known while it is managed, has a configuration, and everything of it has been listed. Until then the
// Inventory returns nothing for it, so that callers never take an unlisted object for a missing one.
type Inventory struct {
	certs   *pki.Cache
	sources clusterSources
	// namespaces is nil if the installation names the namespaces (names).
	namespaces *observed
	names      []string
	// nodes and classes cover the whole cluster.
	nodes, classes *observed
	managed        namespaces
	refusals       *refusals

	memory   memory
	onChange []func(namespace string)
	synced   atomic.Bool
	running  sync.WaitGroup
}

// New returns an Inventory. It fails only if a metric cannot be registered.
func New(clients Clients, opts Options) (*Inventory, error) {
	certs := pki.NewCache(pkiCacheEntries)
	i := &Inventory{
		certs: certs, sources: newClusterSources(clients, certs), names: opts.Namespaces, refusals: newRefusals(),
		memory: memory{clockSkew: opts.ClockSkew},
	}
	i.nodes = observe(i.sources.nodes, metav1.NamespaceAll, cache.ResourceEventHandlerFuncs{
		AddFunc: i.nodeChanged, UpdateFunc: i.nodeUpdated, DeleteFunc: i.nodeChanged,
	}, i.refusals.report(i.sources.nodes))
	i.classes = observe(i.sources.classes, metav1.NamespaceAll, cache.ResourceEventHandlerFuncs{
		AddFunc: i.nodeChanged, UpdateFunc: i.classUpdated, DeleteFunc: i.nodeChanged,
	}, i.refusals.report(i.sources.classes))
	if !i.named() {
		i.watchNamespaces()
	}
	if opts.Register != nil {
		if err := opts.Register(i.refusals.gauge); err != nil {
			return nil, fmt.Errorf("register the metrics of the inventory: %w", err)
		}
		i.refusals.clear(i.nodes.source.name)
	}
	return i, nil
}

// ofCluster returns the sources of the whole cluster besides the Namespaces.
func (i *Inventory) ofCluster() []*observed { return []*observed{i.nodes, i.classes} }

// named reports whether the installation names the namespaces.
func (i *Inventory) named() bool { return len(i.names) > 0 }

// OnChange registers fn, which is called after each change of the facts of a namespace that has, or had, a
// configuration. A change of a node counts for all of them. Callers must register before Start. fn runs on a
// goroutine of the Inventory and must not block.
func (i *Inventory) OnChange(fn func(namespace string)) {
	i.onChange = append(i.onChange, fn)
}

// Start runs the informers until ctx ends, and returns at once. It is called once.
func (i *Inventory) Start(ctx context.Context) {
	i.managed.start(ctx)
	for _, name := range i.names {
		i.manage(name)
	}
	if !i.named() {
		i.running.Go(func() { i.namespaces.RunWithContext(ctx) })
	}
	for _, o := range i.ofCluster() {
		i.running.Go(func() { o.RunWithContext(ctx) })
	}
	i.running.Go(func() {
		select {
		case <-i.nodes.listed.Done():
			// Without any node, no event announces that the nodes are known.
			i.nodeChanged(nil)
		case <-ctx.Done():
		}
	})
}

// Wait returns when every goroutine that Start started has ended.
func (i *Inventory) Wait() { i.running.Wait() }

// HasSynced reports whether everything has been listed once and announced. It stays true: a namespace that is managed
// or configured later waits alone (Await). HasSynced waits for reads that the API server refuses, unless the
// installation names its namespaces. A namespace without rights then delays no other, and is unknown until it can be
// read.
func (i *Inventory) HasSynced() bool {
	if i.synced.Load() {
		return true
	}
	if waiting, _ := i.pending(); waiting != nil {
		return false
	}
	i.synced.Store(true)
	return true
}

// WaitForSync waits for HasSynced. It fails if ctx ends first.
func (i *Inventory) WaitForSync(ctx context.Context) error {
	for {
		waiting, turned := i.pending()
		if waiting == nil {
			break
		}
		if err := waiting.wait(ctx, turned); err != nil {
			return err
		}
	}
	i.synced.Store(true)
	return nil
}

// pending returns what HasSynced waits for, nil for nothing, and a channel that closes when that may change.
func (i *Inventory) pending() (*pending, <-chan struct{}) {
	if !i.named() && !cache.IsDone(i.namespaces.listed) {
		return &pending{what: "Namespaces", done: i.namespaces.listed.Done()}, nil
	}
	turned, refused := i.refusals.state()
	for _, o := range i.ofCluster() {
		if !cache.IsDone(o.listed) && (!i.named() || refused == nil) {
			return &pending{what: o.source.name, done: o.listed.Done()}, turned
		}
	}
	for _, n := range i.managed.list() {
		turned, refused := n.refusals.state()
		if waiting := n.pending(); waiting != nil && (!i.named() || refused == nil) {
			return waiting, turned
		}
	}
	return nil, nil
}

// Await waits until a namespace is known, if it is managed and has a configuration. It fails if ctx ends first, and
// at once if the API server refuses a read.
func (i *Inventory) Await(ctx context.Context, namespace string) error {
	for n := i.managed.of(namespace); n != nil; n = i.managed.of(namespace) {
		turned, refused := n.refusals.state()
		waiting := n.pending()
		if waiting == nil {
			return nil
		}
		if refused != nil {
			return fmt.Errorf("list %s: %w", waiting.what, refused)
		}
		if err := waiting.wait(ctx, turned); err != nil {
			return err
		}
	}
	return nil
}

// Managed reports whether a namespace has opted in, or is named by the installation. No other namespace is read.
func (i *Inventory) Managed(namespace string) bool { return i.managed.of(namespace) != nil }

// Namespaces returns the names of the known namespaces, ordered.
func (i *Inventory) Namespaces() []string {
	var known []string
	for _, n := range i.managed.list() {
		if n.known() {
			known = append(known, n.name)
		}
	}
	return known
}

// Sources returns the facts of a namespace, nil if there are none. A namespace with a configuration is known entirely
// or not at all. Without one its ConfigMaps are not known.
func (i *Inventory) Sources(namespace string) *Sources {
	if s, _ := i.memory.get(namespace, i.known); s != nil {
		return s
	}
	n := i.managed.of(namespace)
	if n == nil || !isClosed(n.listed) || n.configured() {
		return nil
	}
	s := i.snapshot(n)
	if len(s.Secrets) == 0 && len(s.Others) == 0 && len(s.Records) == 0 {
		return nil
	}
	return s
}

// Namespace returns Build of the namespace's Sources, nil if it is not known. The result is kept until a source
// changes.
func (i *Inventory) Namespace(namespace string) *Namespace {
	_, n := i.memory.get(namespace, i.known)
	return n
}

// known returns the snapshot to remember, nil for a namespace that is not known.
func (i *Inventory) known(namespace string) *Sources {
	n := i.managed.of(namespace)
	if n == nil || !n.known() {
		return nil
	}
	return i.snapshot(n)
}

func (i *Inventory) snapshot(n *namespace) *Sources {
	f := n.found()
	f.nodes, f.nodesUnknown = i.nodes.store.List(), !cache.IsDone(i.nodes.listed)
	f.classes = i.classes.store.List()
	return i.measured(assemble(n.name, i.certs, f))
}

// measured adds the clock skew that this process measured.
func (i *Inventory) measured(s *Sources) *Sources {
	if skew := i.memory.clockSkew; skew != nil {
		return s.WithClockSkew(skew())
	}
	return s
}
