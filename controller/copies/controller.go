// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/fairqueue"
	"certrotation.dev/controller/rotation"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-copies"

// Bounds of the retries of one copy.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute
)

// workers make copies, each of another source or destination; those of one namespace hold half of them.
const workers = 4

// Inventory is what the controller asks of registry/view/inventory.
type Inventory interface {
	// Namespace answers from the cache, nil if there is no configuration.
	Namespace(namespace string) *inventory.Namespace
}

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Configurations are asked before a copy is taken back because nobody wants it.
	Configurations configclient.RotationConfigurationsGetter
	Inventory      Inventory
	Recorder       events.EventRecorder
	// Metadata watches the copies and the Namespaces. Nil if nobody else writes them, as in an API server in memory.
	Metadata metadata.Interface
	// Namespaces are the only ones that are watched and written to, and are managed because they are named; empty for all.
	Namespaces []string
	// Metrics to register at, nil for none.
	Metrics rotation.Registry
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Controller keeps copies. Make one with New.
type Controller struct {
	client         kubernetes.Interface
	configurations configclient.RotationConfigurationsGetter
	inventory      Inventory
	recorder       events.EventRecorder
	clock          clock.WithTicker
	queue          workqueue.TypedRateLimitingInterface[key]
	memory         *memory
	metrics        *meters
	watches        *watches
}

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Configurations == nil || cfg.Inventory == nil || cfg.Recorder == nil {
		return nil, errors.New("copies: client, configurations, inventory and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	c := &Controller{
		client: cfg.Client, configurations: cfg.Configurations, inventory: cfg.Inventory, recorder: cfg.Recorder, clock: cfg.Clock,
		queue: fairqueue.NewRateLimited(fairqueue.Config[key]{
			Name: "copies", Namespace: func(k key) string { return k.from }, Workers: workers, Clock: cfg.Clock,
		}, firstRetry, lastRetry),
		memory: newMemory(),
	}
	var err error
	if c.watches, err = newWatches(cfg.Metadata, cfg.Namespaces, c); err != nil {
		return nil, err
	}
	c.metrics = newMeters(c.memory)
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged has the copies looked at whose sources are in a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(key{from: namespace})
}

// changed has a copy looked at that somebody, perhaps we, has written or deleted, whether it is wanted or not.
func (c *Controller) changed(t target, object metav1.Object) {
	if from, name, ok := sourceOf(object); ok {
		c.memory.know(key{from: from, target: t}, name)
	}
	for _, k := range c.memory.of(t) {
		c.queue.Add(k)
	}
}

// consentChanged has everything looked at that a Namespace has a say in.
func (c *Controller) consentChanged(namespace string) {
	c.NamespaceChanged(namespace)
	for _, k := range c.memory.within(namespace) {
		c.queue.Add(k)
	}
}

// Run works until ctx ends. A write that is in progress then is finished first.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.Info("Starting copies")
	var running sync.WaitGroup
	c.watches.run(ctx, &running)
	if !c.watches.sync(ctx) {
		c.queue.ShutDown()
		running.Wait()
		return
	}
	for range workers {
		running.Go(func() {
			for c.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	logger.Info("Stopped copies")
}
