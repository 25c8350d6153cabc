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

// pkiCacheEntries holds the chains and bundles of some 10,000 certificates.
const pkiCacheEntries = 32768

// Options of an Inventory.
type Options struct {
	// Namespaces that are managed because the installation names them: Namespaces are not watched then, and rights are
	// needed in these only. None means those that have the label trust.LabelManaged, which is their owner's consent.
	Namespaces []string
	// ClockSkew is how far the clock of this process is off, without asking anybody; nil if it goes by what the controller
	// has recorded.
	ClockSkew func() time.Duration
	// Register is for the metrics; nil for none.
	Register func(metrics.Registerable) error
}

// Clients of one cluster.
type Clients struct {
	// Core reads Secrets, ConfigMaps and Nodes.
	Core kubernetes.Interface
	// Metadata reads of Namespaces, and of Secrets that are no certificates, the metadata only: their content is never
	// transferred.
	Metadata metadata.Interface
	// Config reads RotationConfigurations, RotationRecords and StaticPodClasses.
	Config versioned.Interface
}

// Inventory watches the managed namespaces of a cluster and answers with the facts of them.
//
// A namespace is known while it is managed and has a configuration, and since everything of it has been listed. Before
// that nothing is said of it, so that nobody takes something for missing that was not listed yet.
type Inventory struct {
	certs   *pki.Cache
	sources clusterSources
	// namespaces is nil if names has the namespaces that are managed.
	namespaces *observed
	names      []string
	// nodes and classes are of the whole cluster.
	nodes, classes *observed
	managed        namespaces
	refusals       *refusals

	memory   memory
	onChange []func(namespace string)
	synced   atomic.Bool
	running  sync.WaitGroup
}

// New returns an Inventory. It fails only if metrics refuse to be registered.
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

// ofCluster are what is read of the whole cluster, besides the Namespaces.
func (i *Inventory) ofCluster() []*observed { return []*observed{i.nodes, i.classes} }

// named says whether the installation names the namespaces.
func (i *Inventory) named() bool { return len(i.names) > 0 }

// OnChange has fn called after each change of what is known of a namespace that has, or had, a configuration; a change
// of a node counts for all of them. It must be called before Start. fn runs on a goroutine of the Inventory and must not
// block.
func (i *Inventory) OnChange(fn func(namespace string)) {
	i.onChange = append(i.onChange, fn)
}

// Start runs the informers until ctx ends, and returns. It is called once.
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
			// There may be no node, of which nobody would tell.
			i.nodeChanged(nil)
		case <-ctx.Done():
		}
	})
}

// Wait returns when everything that Start has started has ended.
func (i *Inventory) Wait() { i.running.Wait() }

// HasSynced says whether everything has been listed once and every change of that has been announced. It stays true: what
// a namespace has to wait for that is managed later, or gets its first configuration later, is that namespace's alone
// (Await). What the API server refuses is waited for, unless the installation names its namespaces: then one without
// rights does not hold up the others, and is unknown until it can be read.
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

// WaitForSync waits for HasSynced. It fails when ctx ends first.
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

// pending is what HasSynced waits for, nil for nothing, and what is closed when something else may be.
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

// Await waits until a namespace is known, if it is managed and has a configuration. It fails when ctx ends first, and at
// once if the API server does not let us read the namespace.
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

// Managed says whether a namespace has opted in, or is named by the installation. Of no other anything is known or read.
func (i *Inventory) Managed(namespace string) bool { return i.managed.of(namespace) != nil }

// Namespaces are those that are known, ordered.
func (i *Inventory) Namespaces() []string {
	var known []string
	for _, n := range i.managed.list() {
		if n.known() {
			known = append(known, n.name)
		}
	}
	return known
}

// Sources returns what is known of a namespace, nil if nothing is. Of one without a configuration the ConfigMaps are not
// known; one with a configuration is known entirely or not at all.
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

// Namespace returns Build of the namespace's Sources, nil if it is not known. The answer is kept until a source changes.
func (i *Inventory) Namespace(namespace string) *Namespace {
	_, n := i.memory.get(namespace, i.known)
	return n
}

// known is the snapshot that is remembered, nil for a namespace that is not known.
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

// measured adds what this process knows of its clock.
func (i *Inventory) measured(s *Sources) *Sources {
	if skew := i.memory.clockSkew; skew != nil {
		return s.WithClockSkew(skew())
	}
	return s
}
