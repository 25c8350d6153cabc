// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

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

	"certrotation.dev/controller/fairqueue"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-controller"

// Inventory is what the controller asks of registry/view/inventory.
type Inventory interface {
	// Sources and Namespace answer from the cache, nil if nothing is known.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
	// Live answers from the API server.
	Live(ctx context.Context, namespace string) (*inventory.Sources, error)
}

// Evidence is what the controller asks of controller/evidence.
type Evidence interface {
	// Refresh collects the evidence of a domain anew and returns when what has changed is written. A member that cannot be
	// observed is no error.
	Refresh(ctx context.Context, d *trust.Domain) error
	// LookedOnce says whether every member of a domain that is observed was looked at since the start.
	LookedOnce(namespace, domain string) bool
	// Absences returns the proofs that members are gone, by trust.AbsenceKey. Who is not proven to be gone is left out.
	Absences(ctx context.Context, d *trust.Domain, missing []trust.RosterMember) (map[string]string, error)
}

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Records are the clients of what is remembered, and of the status of configurations.
	Records   configclient.ConfigV1alpha1Interface
	Inventory Inventory
	// Evidence is asked before an action that cannot be undone. Nil if no evidence is collected actively.
	Evidence Evidence
	// Skew is asked about the clock before anything is done; nil if nobody can be.
	Skew     Skew
	Recorder events.EventRecorder
	// Metrics to register at, nil for none.
	Metrics Registry
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Workers defaults to 8, of which one namespace holds half.
	Workers int
	// Assess defaults to trust.Assess. test/simulation sets it to show that it finds a broken protocol.
	Assess func(d *trust.Domain, now time.Time) *trust.Assessment
}

// Controller performs rotations. Make one with New.
type Controller struct {
	client    kubernetes.Interface
	records   configclient.ConfigV1alpha1Interface
	inventory Inventory
	evidence  Evidence
	skew      Skew
	recorder  events.EventRecorder
	clock     clock.WithTicker
	workers   int
	assess    func(d *trust.Domain, now time.Time) *trust.Assessment
	queue     workqueue.TypedRateLimitingInterface[key]
	expected  *expectations
	refused   *refusals
	absences  *absences
	reported  *reports
	metrics   *meters
}

// Bounds of the retries of one key.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute
)

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Records == nil || cfg.Inventory == nil || cfg.Recorder == nil {
		return nil, errors.New("rotation controller: client, records, inventory and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 8
	}
	if cfg.Assess == nil {
		cfg.Assess = trust.Assess
	}
	c := &Controller{
		client: cfg.Client, records: cfg.Records, inventory: cfg.Inventory, evidence: cfg.Evidence, skew: cfg.Skew,
		recorder: cfg.Recorder, clock: cfg.Clock, workers: cfg.Workers, assess: cfg.Assess,
		queue: fairqueue.NewRateLimited(fairqueue.Config[key]{
			Name: "rotation", Namespace: func(k key) string { return k.namespace }, Workers: cfg.Workers, Clock: cfg.Clock,
		}, firstRetry, lastRetry),
		expected: newExpectations(cfg.Clock),
		refused:  newRefusals(cfg.Clock),
		absences: newAbsences(cfg.Clock),
		reported: newReports(),
	}
	c.metrics = newMeters(c.reported, c.refused, cfg.Clock)
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged has the namespace looked at. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(key{namespace: namespace})
}

// Run works until ctx ends. A write that is in progress then is finished first.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.Info("Starting rotation", "workers", c.workers)
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
	logger.Info("Stopped rotation")
}
