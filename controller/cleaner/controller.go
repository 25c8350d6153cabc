// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/worker"
	"certrotation.dev/controller/rotation"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns the marks.
const FieldManager = "certrotation-cleaner"

// Bounds of the retries of one namespace.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Minute
)

// workers is the number of namespaces that are cleaned up concurrently.
const workers = 2

// Inventory is the part of registry/view/inventory that the controller uses.
type Inventory interface {
	// Sources and Namespace answer from the cache, nil if nothing is known.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
	// Live answers from the API server.
	Live(ctx context.Context, namespace string) (*inventory.Sources, error)
}

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Records is the client of the RotationRecords.
	Records   configclient.RotationRecordsGetter
	Inventory Inventory
	Recorder  events.EventRecorder
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Skew returns the clock skew and is asked before a deletion. Nil skips that check.
	Skew rotation.Skew
}

// Controller cleans up. Make one with New.
type Controller struct {
	client    kubernetes.Interface
	records   configclient.RotationRecordsGetter
	inventory Inventory
	recorder  events.EventRecorder
	clock     clock.WithTicker
	skew      rotation.Skew
	queue     *worker.Queue[string]
}

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Records == nil || cfg.Inventory == nil || cfg.Recorder == nil {
		return nil, errors.New("cleaner: client, records, inventory and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	c := &Controller{
		client: cfg.Client, records: cfg.Records, inventory: cfg.Inventory, recorder: cfg.Recorder, clock: cfg.Clock, skew: cfg.Skew,
	}
	c.queue = worker.New(worker.Config[string]{
		Name: "cleaner", Work: c.reconcile, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(namespace string) string { return namespace },
		Describe:  func(namespace string) []any { return []any{"namespace", namespace} },
		Benign:    []func(error) bool{apierrors.IsNotFound},
	})
	return c, nil
}

// NamespaceChanged enqueues a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) { c.queue.Add(namespace) }

// Run works until ctx ends, and first finishes a write in progress.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx) }

// Reconcile reconciles a namespace once, as a worker does. It is for callers that drive reconciliation themselves;
// all others call Run.
func (c *Controller) Reconcile(ctx context.Context, namespace string) error {
	return c.queue.Do(ctx, namespace)
}
