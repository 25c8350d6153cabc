// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/internal/worker"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns the CA bundles.
const FieldManager = "certrotation-ca-injector"

// OwnAPIService registers the API of certrotation. kube-apiserver verifies the servers of certrotation by its
// caBundle.
const OwnAPIService = "v1alpha1.certrotation.dev"

const (
	workers    = 2
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// target is an object that holds a CA bundle.
type target = trust.InjectionTarget

// key is an entry of the queue: a target, a namespace for all targets that ask for a bundle from there, or a kind to
// ask the API server about.
type key struct {
	target    target
	namespace string
	kind      configv1alpha1.InjectionKind
}

// Inventory is the part of registry/view/inventory that the controller uses.
type Inventory interface {
	// Managed reports whether a namespace is managed.
	Managed(namespace string) bool
	// Sources and Namespace answer from the cache, nil if there is no configuration.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
}

// Config of a Controller.
type Config struct {
	// Targets reads and writes the objects. Metadata watches them.
	Targets  dynamic.Interface
	Metadata metadata.Interface
	// Before a write, Client reads the bundle, and Configurations the configuration that consents to its use.
	Client         kubernetes.Interface
	Configurations configclient.RotationConfigurationsGetter
	Inventory      Inventory
	Recorder       events.EventRecorder
	// Wrote is called after each write of a target with a bundle of the namespace. It may be nil and must not block.
	Wrote func(namespace string, written trust.InjectionTarget)
	// Every makes the controller watch all targets that ask for a bundle, not only OwnAPIService.
	Every bool
	// CertManager enables the annotation of cert-manager.
	CertManager bool
	// Installation is the namespace that certrotation is installed in, "" for any.
	Installation string
	// Metrics registers the metrics, nil for none.
	Metrics metrics.KubeRegistry
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Controller injects CA bundles. Make one with New.
type Controller struct {
	cfg     Config
	clock   clock.WithTicker
	queue   *worker.Queue[key]
	by      apply.By
	memory  *memory
	watches watches
	// services are the kinds that an API server need not serve. The map itself never changes.
	services map[configv1alpha1.InjectionKind]*service
}

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Targets == nil || cfg.Metadata == nil || cfg.Client == nil || cfg.Configurations == nil || cfg.Inventory == nil || cfg.Recorder == nil {
		return nil, errors.New("CA bundles: clients, inventory and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	c := &Controller{cfg: cfg, clock: cfg.Clock, memory: newMemory()}
	c.services = c.newServices()
	c.queue = worker.New(worker.Config[key]{
		Name: "cabundle", Work: c.reconcile, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Describe: func(k key) []any {
			return []any{"namespace", k.namespace, "kind", cmp.Or(k.target.Kind, string(k.kind)), "object", k.target.Name}
		},
	})
	var err error
	if c.watches, err = c.newWatches(); err != nil {
		return nil, err
	}
	meters := newMeters(c.memory)
	c.by = apply.By{FieldManager: FieldManager, Count: meters.wrote}
	if cfg.Metrics != nil {
		meters.register(cfg.Metrics)
	}
	return c, nil
}

func (c *Controller) kinds() []configv1alpha1.InjectionKind {
	if !c.cfg.Every {
		return []configv1alpha1.InjectionKind{configv1alpha1.InjectAPIService}
	}
	out := make([]configv1alpha1.InjectionKind, 0, len(injection.Resources))
	for kind := range injection.Resources {
		out = append(out, kind)
	}
	return out
}

// NamespaceChanged enqueues the targets that take their bundle from a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) { c.queue.Add(key{namespace: namespace}) }

// Run works until ctx ends, and first finishes a write in progress.
func (c *Controller) Run(ctx context.Context) {
	var watching sync.WaitGroup
	for kind, informer := range c.watches {
		watching.Go(func() {
			if c.awaitService(ctx, kind) {
				informer.RunWithContext(ctx)
			}
		})
	}
	for kind := range c.services {
		c.queue.Add(key{kind: kind})
	}
	c.queue.Run(ctx)
	watching.Wait()
}
