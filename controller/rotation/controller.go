// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/internal/worker"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-controller"

// key is an entry of the queue: a trust domain, or, with an empty domain, the namespace as a whole.
type key struct {
	namespace, domain string
	// status selects the statuses of the namespace's configurations.
	status bool
}

// String is namespace/domain, or the namespace.
func (k key) String() string {
	switch {
	case k.status:
		return "the statuses of " + k.namespace
	case k.domain == "":
		return k.namespace
	}
	return k.namespace + "/" + k.domain
}

// Inventory is the part of registry/view/inventory that the controller uses.
type Inventory interface {
	// Sources and Namespace answer from the cache, nil if nothing is known.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
	// Live answers from the API server.
	Live(ctx context.Context, namespace string) (*inventory.Sources, error)
}

// Evidence is the part of controller/evidence that the controller uses.
type Evidence interface {
	// Refresh collects the evidence of a domain anew, and returns when the changes are written. A member that cannot
	// be observed is no error.
	Refresh(ctx context.Context, d *trust.Domain) error
	// LookedOnce reports whether every observable member of a domain was observed since the start.
	LookedOnce(namespace, domain string) bool
	// Absences returns the proofs that members are gone, by trust.AbsenceKey. Members without proof are left out.
	Absences(ctx context.Context, d *trust.Domain, missing []trust.RosterMember) (map[string]string, error)
}

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Records writes records and the status of configurations.
	Records   configclient.ConfigV1alpha1Interface
	Inventory Inventory
	// Evidence is asked before an irreversible action. Nil if no evidence is collected actively.
	Evidence Evidence
	// Skew is asked about the clock before any action; nil if no other clock can be asked.
	Skew Skew
	// Issuer is asked for the certificates that another controller issues; nil if none is.
	Issuer   Issuer
	Recorder events.EventRecorder
	// Metrics to register at, nil for none.
	Metrics metrics.KubeRegistry
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Workers defaults to 8. One namespace holds at most half of them.
	Workers int
	// Assess defaults to trust.Assess. test/simulation replaces it to show that it finds a broken protocol.
	Assess func(d *trust.Domain, now time.Time) *trust.Assessment
}

// Controller performs rotations. Make one with New.
type Controller struct {
	client    kubernetes.Interface
	records   configclient.ConfigV1alpha1Interface
	inventory Inventory
	evidence  Evidence
	skew      Skew
	issuer    Issuer
	recorder  events.EventRecorder
	clock     clock.WithTicker
	assess    func(d *trust.Domain, now time.Time) *trust.Assessment
	queue     *worker.Queue[key]
	by        apply.By
	expected  *expectations
	refused   *refusals
	absences  *absences
	reported  *reports
	metrics   *meters
}

// Bounds of the retry back-off of one key.
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
		client: cfg.Client, records: cfg.Records, inventory: cfg.Inventory, evidence: cfg.Evidence, skew: cfg.Skew, issuer: cfg.Issuer,
		recorder: cfg.Recorder, clock: cfg.Clock, assess: cfg.Assess,
		expected: newExpectations(cfg.Clock),
		refused:  newRefusals(cfg.Clock),
		absences: newAbsences(cfg.Clock),
		reported: newReports(),
	}
	c.queue = worker.New(worker.Config[key]{
		Name: "rotation", Work: c.reconcile, Workers: cfg.Workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(k key) string { return k.namespace },
		Describe:  func(k key) []any { return []any{"namespace", k.namespace, "trustDomain", k.domain} },
	})
	c.metrics = newMeters(c.reported, c.refused, cfg.Clock)
	c.by = apply.By{FieldManager: FieldManager, Count: c.metrics.wrote}
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged enqueues a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(key{namespace: namespace})
}

// Run works until ctx ends, and finishes a write in progress first.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx) }

// Reconcile runs one pass over a trust domain, or, with an empty domain, over the namespace as a whole, as a worker
// would. It is for tests that drive reconciliation themselves, such as test/simulation; all others call Run. It
// returns the error that a worker would retry for.
func (c *Controller) Reconcile(ctx context.Context, namespace, domain string) error {
	return c.queue.Do(ctx, key{namespace: namespace, domain: domain})
}

// ReconcileStatuses is Reconcile for the statuses of the configurations of a namespace.
func (c *Controller) ReconcileStatuses(ctx context.Context, namespace string) error {
	return c.queue.Do(ctx, key{namespace: namespace, status: true})
}

func (c *Controller) forget(k key) {
	c.expected.forget(k)
	c.reported.forget(k)
	c.refused.forget(k)
	c.absences.forget(k)
}
