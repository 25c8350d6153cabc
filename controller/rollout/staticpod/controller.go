// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/internal/worker"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-controller"

// Inventory is implemented by registry/view/inventory.
type Inventory interface {
	// Namespace reads from the cache. It returns nil for an unknown namespace.
	Namespace(namespace string) *inventory.Namespace
}

// workers is how many namespaces are worked on at a time.
const workers = 4

// QuorumChecker asks the members of an etcd cluster.
type QuorumChecker interface {
	Check(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error)
}

// Config of a Controller.
type Config struct {
	Client    kubernetes.Interface
	Inventory Inventory
	// Quorum is asked if a configuration has a quorum.
	Quorum   QuorumChecker
	Recorder events.EventRecorder
	// Metrics is where metrics are registered. It may be nil.
	Metrics metrics.KubeRegistry
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Controller rolls revisions out to nodes. Create one with New.
type Controller struct {
	client    kubernetes.Interface
	inventory Inventory
	quorum    QuorumChecker
	recorder  events.EventRecorder
	clock     clock.WithTicker
	queue     *worker.Queue[string]
	by        apply.By
	watches   *watches
	memory    *memory
	metrics   *meters
}

// Bounds of the retries of one namespace.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// settle is the delay of the next reconciliation after this controller's own write, whose effects take a moment.
const settle = 20 * time.Millisecond

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Inventory == nil || cfg.Quorum == nil || cfg.Recorder == nil {
		return nil, errors.New("static pod controller: client, inventory, quorum and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	c := &Controller{
		client: cfg.Client, inventory: cfg.Inventory, quorum: cfg.Quorum, recorder: cfg.Recorder, clock: cfg.Clock,
		memory: newMemory(),
	}
	c.queue = worker.New(worker.Config[string]{
		Name: "staticpod", Work: c.work, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(namespace string) string { return namespace },
		Describe:  func(namespace string) []any { return []any{"namespace", namespace} },
	})
	c.watches = newWatches(cfg.Client, c.NamespaceChanged)
	c.metrics = newMeters(c.memory, cfg.Clock)
	c.by = apply.By{FieldManager: FieldManager, Count: c.metrics.wrote}
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged enqueues the namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(namespace)
}

// Run works until ctx ends, and then finishes a running write.
func (c *Controller) Run(ctx context.Context) {
	c.watches.start(ctx)
	c.queue.Run(ctx)
	c.watches.stop()
}

func (c *Controller) work(ctx context.Context, namespace string) error {
	again, err := c.Reconcile(ctx, namespace)
	if again > 0 {
		c.queue.AddAfter(namespace, again)
	}
	return err
}

// Reconcile takes the next step of each rollout in a namespace. It returns when to reconcile again without a change,
// or zero for never.
func (c *Controller) Reconcile(ctx context.Context, namespace string) (time.Duration, error) {
	known := c.inventory.Namespace(namespace)
	c.watches.keep(namespace, known != nil && len(known.Rollouts) > 0) //nolint:contextcheck // a watch outlives the look that begins it
	c.memory.keep(namespace, known)
	if known == nil {
		return 0, nil
	}
	var (
		next time.Duration
		errs []error
	)
	for _, r := range known.Rollouts {
		again, err := c.reconcileRollout(ctx, known, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("rollout %s/%s: %w", namespace, r.Config.Name, err))
		}
		if again > 0 && (next == 0 || again < next) {
			next = again
		}
	}
	return next, errors.Join(errs...)
}

func (c *Controller) reconcileRollout(ctx context.Context, namespace *inventory.Namespace, r *inventory.Rollout) (time.Duration, error) {
	l := &look{Controller: c, known: namespace, namespace: namespace.Name, rollout: r, name: r.Config.Name, now: c.clock.Now()}
	return l.work(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("rollout", l.name)))
}
