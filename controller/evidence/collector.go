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
	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/controller/fairqueue"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns the records that this package writes.
const FieldManager = "certrotation-controller"

// Inventory is what the collector asks of registry/view/inventory.
type Inventory interface {
	Namespace(namespace string) *inventory.Namespace
}

// Config of a Collector.
type Config struct {
	Client    kubernetes.Interface
	Records   configclient.RotationRecordsGetter
	Inventory Inventory
	// Targets reads the objects that have a caBundle, and CertManager has the annotation of cert-manager understood on them.
	Targets     dynamic.Interface
	CertManager bool
	// Clock defaults to the real one. Timeouts of connections are real time in any case.
	Clock clock.WithTicker
	// Concurrency is how many members of one namespace are probed at a time, and half of how many of all. Defaults to 16.
	Concurrency int
	// HandshakesPerSecond bounds those with all members together. Defaults to DefaultHandshakesPerSecond.
	HandshakesPerSecond int
	// Dial defaults to that of a dial.Dialer which allows nothing besides.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Failures counts connections that failed, and Waits how long they wait for their turn; nil for nobody.
	Failures *connection.Failures
	Waits    *Waits
	// Quorum tells who the members of an etcd cluster are. Without it no member of a node is proven absent where a rollout
	// has an etcd quorum.
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
	failures    *connection.Failures
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

// target is an entry of the queue: a member, or, with only a namespace, all of its members.
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
		queue: fairqueue.New(fairqueue.Config[target]{
			Name: "evidence", Namespace: func(t target) string { return t.namespace }, Workers: 2 * cfg.Concurrency, Clock: cfg.Clock,
		}),
		watched: watched{targets: map[target]attempts{}}, assessments: assessments{domains: map[domainKey]*lastAssessed{}},
	}
	c.pods = podWatches{collector: c, stops: map[string]context.CancelFunc{}}
	return c, nil
}

// NamespaceChanged has the members of a namespace looked at. It does not block.
func (c *Collector) NamespaceChanged(namespace string) {
	c.queue.Add(target{namespace: namespace})
}

// Run observes until ctx ends. It is called once.
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

// safely turns a panic into an error, and comes again later: one member must not end the probes of all others.
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
	err = fairqueue.Within(ctx, lookDeadline, "look at member "+t.member+" of "+t.party, func(ctx context.Context) error {
		var err error
		again, err = c.visit(ctx, t)
		return err
	})
	return again, err
}
