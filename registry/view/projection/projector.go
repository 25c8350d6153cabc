// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view"
	"certrotation.dev/registry/view/inventory"
)

// Inventory is what a Projector needs of inventory.Inventory.
type Inventory interface {
	OnChange(fn func(namespace string))
	WaitForSync(ctx context.Context) error
	Namespaces() []string
	Namespace(namespace string) *inventory.Namespace
	Sources(namespace string) *inventory.Sources
}

// Store is what a Projector needs of view.Store.
type Store interface {
	Apply(changes []view.Change) (uint64, error)
	MarkSynced()
}

// Config of a Projector. Everything without a default is required.
type Config struct {
	Inventory Inventory
	// Certificates and Bundles are the stores of the two resources. The caller starts them before Run. Nothing else
	// writes to them.
	Certificates, Bundles Store
	// Clock defaults to the system clock.
	Clock clock.WithTicker
	// Assess defaults to trust.Assess.
	Assess func(d *trust.Domain, now time.Time) *trust.Assessment
	// Register registers the metrics, such as legacyregistry.Register. Without it none are kept.
	Register func(metrics.Registerable) error
}

func (c Config) complete() (Config, error) {
	if c.Inventory == nil || c.Certificates == nil || c.Bundles == nil {
		return c, errors.New("projector needs an inventory and both stores")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Assess == nil {
		c.Assess = trust.Assess
	}
	return c, nil
}

// Projector keeps the stores in step with the inventory.
type Projector struct {
	cfg     Config
	queue   workqueue.TypedRateLimitingInterface[string]
	arrived *arrivals
	metrics *projectorMetrics
	// served are the applied objects by namespace. The goroutine of Run owns it.
	served map[string]*Objects
	pace   pace
}

// New returns a Projector that is notified of changes from now on. Call it before the inventory starts.
func New(config Config) (*Projector, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, err
	}
	p := &Projector{
		cfg:     cfg,
		arrived: newArrivals(cfg.Clock),
		metrics: newProjectorMetrics(),
		served:  map[string]*Objects{},
		pace:    pace{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "projection", Clock: cfg.Clock},
		),
	}
	if cfg.Register != nil {
		if err := p.metrics.register(cfg.Register); err != nil {
			return nil, fmt.Errorf("register the metrics of the projection: %w", err)
		}
	}
	cfg.Inventory.OnChange(p.announce)
	return p, nil
}

// announce records that a namespace has changed, and enqueues it. It never blocks.
func (p *Projector) announce(namespace string) {
	p.arrived.note(namespace)
	p.queue.Add(namespace)
}

// Run projects until ctx ends, and then returns nil. It marks the stores as synced once it has projected every
// namespace that the inventory knew when it had synced.
func (p *Projector) Run(ctx context.Context) error {
	defer p.queue.ShutDown()
	if err := p.cfg.Inventory.WaitForSync(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("wait for the inventory: %w", err)
	}
	for _, namespace := range p.cfg.Inventory.Namespaces() {
		if err := p.project(namespace); err != nil {
			return err
		}
	}
	p.cfg.Certificates.MarkSynced()
	p.cfg.Bundles.MarkSynced()

	stop := context.AfterFunc(ctx, p.queue.ShutDown)
	defer stop()
	for p.processNext(ctx) {
	}
	return nil
}

func (p *Projector) processNext(ctx context.Context) bool {
	namespace, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(namespace)
	if wait := p.pace.wait(namespace, p.cfg.Clock.Now()); wait > 0 {
		p.queue.AddAfter(namespace, wait)
		return true
	}
	if err := p.project(namespace); err != nil {
		// A store refuses only if it is stopped, or cannot take a new epoch from the API server.
		klog.FromContext(ctx).Error(err, "Failed to project the namespace, will try again", "namespace", namespace)
		p.queue.AddRateLimited(namespace)
		return true
	}
	p.queue.Forget(namespace)
	return true
}

// arrivals records, per namespace, when the oldest change that is not projected yet was announced.
type arrivals struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since map[string]time.Time
}

func newArrivals(clk clock.PassiveClock) *arrivals {
	return &arrivals{clock: clk, since: map[string]time.Time{}}
}

func (a *arrivals) note(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.since[namespace]; !ok {
		a.since[namespace] = a.clock.Now()
	}
}

// take must be called before the namespace is read, so that a change during the read counts for the next time.
func (a *arrivals) take(namespace string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.since[namespace]
	delete(a.since, namespace)
	return at, ok
}

func (a *arrivals) putBack(namespace string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since[namespace] = at
}
