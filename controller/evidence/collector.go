// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/internal/worker"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns the records that this package writes.
const FieldManager = "certrotation-controller"

// Inventory is implemented by registry/view/inventory.
type Inventory interface {
	Namespace(namespace string) *inventory.Namespace
}

// Config of a Collector.
type Config struct {
	Client    kubernetes.Interface
	Records   configclient.RotationRecordsGetter
	Inventory Inventory
	// Targets reads the objects that have a caBundle. CertManager makes the collector honor cert-manager's annotation
	// on them.
	Targets     dynamic.Interface
	CertManager bool
	// Clock defaults to the real one. Timeouts of connections are real time in any case.
	Clock clock.WithTicker
	// Concurrency bounds the concurrent probes of one namespace; all namespaces together have twice as many. Defaults
	// to 16.
	Concurrency int
	// HandshakesPerSecond bounds the handshakes with all members together. Defaults to DefaultHandshakesPerSecond.
	HandshakesPerSecond int
	// Dial defaults to DialContext of the zero dial.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Failures counts failed connections, Waits the time that handshakes wait for their turn. Either may be nil.
	Failures *dial.Failures
	Waits    *Waits
	// Quorum lists the members of an etcd cluster. Without it, no node member is proven absent where a rollout has an
	// etcd quorum.
	Quorum Quorum
}

// Collector observes members. Make one with New.
type Collector struct {
	client      kubernetes.Interface
	records     configclient.RotationRecordsGetter
	inventory   Inventory
	targets     dynamic.Interface
	certManager bool
	clock       clock.WithTicker
	concurrency int
	dial        func(ctx context.Context, network, address string) (net.Conn, error)
	failures    *dial.Failures
	turns       *turns
	resolver    resolver
	minter      minter
	quorum      Quorum
	rounds      *rounds
	queue       workqueue.TypedDelayingInterface[target]
	watched     watched
	assessments assessments
	pods        podWatches
}

// target is a queue item: one member or, with only a namespace, all members of the namespace.
type target struct {
	namespace, domain, party, member string
}

// New returns a Collector that does nothing before Run or Refresh.
func New(cfg Config) (*Collector, error) {
	if cfg.Client == nil || cfg.Records == nil || cfg.Inventory == nil || cfg.Targets == nil {
		return nil, errors.New("evidence collector: clients, records and inventory are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 16
	}
	if cfg.HandshakesPerSecond <= 0 {
		cfg.HandshakesPerSecond = DefaultHandshakesPerSecond
	}
	if cfg.Dial == nil {
		cfg.Dial = (&dial.Dialer{}).DialContext
	}
	c := &Collector{
		client: cfg.Client, records: cfg.Records, inventory: cfg.Inventory, targets: cfg.Targets, certManager: cfg.CertManager, clock: cfg.Clock, concurrency: cfg.Concurrency,
		dial: cfg.Dial, failures: cfg.Failures, resolver: net.DefaultResolver, minter: &signers{client: cfg.Client, clock: cfg.Clock}, quorum: cfg.Quorum,
		turns:  newTurns(cfg.HandshakesPerSecond, cfg.Waits),
		rounds: &rounds{domains: map[domainKey]*round{}},
		queue: worker.NewFair(worker.FairConfig[target]{
			Name: "evidence", Namespace: func(t target) string { return t.namespace }, Workers: 2 * cfg.Concurrency, Clock: cfg.Clock,
		}),
		watched: watched{targets: map[target]attempts{}}, assessments: assessments{domains: map[domainKey]*lastAssessed{}},
	}
	c.pods = podWatches{collector: c, stops: map[string]context.CancelFunc{}}
	return c, nil
}

// NamespaceChanged enqueues the members of a namespace. It does not block.
func (c *Collector) NamespaceChanged(namespace string) {
	c.queue.Add(target{namespace: namespace})
}

// Run observes until ctx ends. Call it once.
func (c *Collector) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range 2 * c.concurrency {
		workers.Go(func() {
			for c.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	c.pods.wait()
}

func (c *Collector) processNext(ctx context.Context) bool {
	t, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(t)
	if ctx.Err() != nil {
		return true
	}
	logger := klog.FromContext(ctx).WithValues("namespace", t.namespace, "trustDomain", t.domain, "party", t.party, "member", t.member)
	again, err := c.safely(klog.NewContext(ctx, logger), t)
	if err != nil && ctx.Err() == nil {
		logger.Error(err, "Failed to record evidence, will retry")
	}
	if again > 0 {
		c.queue.AddAfter(t, again)
	}
	return true
}

// safely turns a panic into an error and retries later, so that one member does not stop the probes of the others.
func (c *Collector) safely(ctx context.Context, t target) (again time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			again, err = time.Minute, fmt.Errorf("panic while probing: %v\n%s", r, debug.Stack())
		}
	}()
	if t.member == "" {
		c.fanOut(ctx, t.namespace)
		return 0, nil
	}
	err = worker.Within(ctx, lookDeadline, "look at member "+t.member+" of "+t.party, func(ctx context.Context) error {
		var err error
		again, err = c.visit(ctx, t)
		return err
	})
	return again, err
}
