// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/fairqueue"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-controller"

// Inventory is what the controller asks of registry/view/inventory.
type Inventory interface {
	// Namespace answers from the cache, nil if nothing is known.
	Namespace(namespace string) *inventory.Namespace
}

// QuorumChecker asks the members of an etcd cluster.
type QuorumChecker interface {
	Check(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error)
}

// Config of a Controller.
type Config struct {
	Client    kubernetes.Interface
	Inventory Inventory
	// Quorum is asked where a configuration has one.
	Quorum   QuorumChecker
	Recorder events.EventRecorder
	// Metrics to register at, nil for none.
	Metrics Registry
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Workers is how many namespaces are worked on at a time. Defaults to 4.
	Workers int
}

// Controller brings revisions to the nodes. Make one with New.
type Controller struct {
	client    kubernetes.Interface
	inventory Inventory
	quorum    QuorumChecker
	recorder  events.EventRecorder
	clock     clock.WithTicker
	workers   int
	queue     workqueue.TypedRateLimitingInterface[string]
	watches   *watches
	memory    *memory
	metrics   *meters
}

// Bounds of the retries of one namespace.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Inventory == nil || cfg.Quorum == nil || cfg.Recorder == nil {
		return nil, errors.New("static pod controller: client, inventory, quorum and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 4
	}
	c := &Controller{
		client: cfg.Client, inventory: cfg.Inventory, quorum: cfg.Quorum, recorder: cfg.Recorder, clock: cfg.Clock, workers: cfg.Workers,
		queue: fairqueue.NewRateLimited(fairqueue.Config[string]{
			Name: "staticpod", Namespace: func(namespace string) string { return namespace }, Workers: cfg.Workers, Clock: cfg.Clock,
		}, firstRetry, lastRetry),
		memory: newMemory(),
	}
	c.watches = newWatches(cfg.Client, c.NamespaceChanged)
	c.metrics = newMeters(c.memory, cfg.Clock)
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged has the namespace looked at. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(namespace)
}

// Run works until ctx ends. A write that is in progress then is finished first.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.Info("Starting rollouts of static pods", "workers", c.workers)
	c.watches.start(ctx)
	var workers sync.WaitGroup
	for range c.workers {
		workers.Go(func() {
			for c.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	c.watches.stop()
	logger.Info("Stopped rollouts of static pods")
}
