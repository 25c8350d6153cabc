// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/internal/worker"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns the annotations of the templates.
const FieldManager = "certrotation-workloads"

// Bounds of the retry back-off of one namespace.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// workers is how many namespaces are worked on at the same time.
const workers = 2

const (
	// nextLook is the delay of the next pass while workloads progress by themselves. nextAppeal is the delay if all
	// of them wait for an operator.
	nextLook   = 5 * time.Second
	nextAppeal = 30 * time.Second
)

// Inventory is the part of registry/view/inventory that the controller uses.
type Inventory interface {
	// Managed reports whether certrotation manages a namespace.
	Managed(namespace string) bool
	// Sources and Namespace answer from the cache, nil if there is no configuration.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
}

// Members is the part of controller/etcdhealth that the controller uses.
type Members interface {
	// CheckPods asks the etcd members in these pods, live.
	CheckPods(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, pods []*corev1.Pod) (quorum.Observation, error)
}

// Due returns the workloads that a domain needs restarted, at most one of a party. known holds the workloads of the
// namespace that this pass has read.
type Due func(d *trust.Domain, now time.Time, known map[trust.Workload]trust.Progress) []trust.Restart

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Own reads configurations and writes records.
	Own       configclient.ConfigV1alpha1Interface
	Inventory Inventory
	Due       Due
	Members   Members
	// Enabled allows restarts. Without it, due workloads are only named as blockers.
	Enabled bool
	// SystemNamespace is the namespace of this installation. Messages about an account that lacks a right name it.
	SystemNamespace string
	Recorder        events.EventRecorder
	// Metrics to register at, nil for none.
	Metrics metrics.KubeRegistry
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Controller restarts workloads. Make one with New.
type Controller struct {
	cfg     Config
	clock   clock.WithTicker
	queue   *worker.Queue[string]
	by      apply.By
	memory  *memory
	metrics *meters
}

// New returns a Controller that does nothing before Run.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Own == nil || cfg.Inventory == nil || cfg.Due == nil || cfg.Members == nil || cfg.Recorder == nil {
		return nil, errors.New("workloads: clients, inventory, rule, members and recorder are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	c := &Controller{cfg: cfg, clock: cfg.Clock, memory: newMemory()}
	c.queue = worker.New(worker.Config[string]{
		Name: "workload", Work: c.work, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(namespace string) string { return namespace },
		Describe:  func(namespace string) []any { return []any{"namespace", namespace} },
	})
	c.metrics = newMeters(c.memory)
	c.by = apply.By{FieldManager: FieldManager, Count: c.metrics.wrote}
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged enqueues a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) { c.queue.Add(namespace) }

// Run works until ctx ends, and finishes a write in progress first.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx) }

// work runs a pass, at most one in nextLook while workloads are in progress: each replaced pod changes the namespace.
func (c *Controller) work(ctx context.Context, namespace string) error {
	now := c.clock.Now()
	if in := c.memory.pause(namespace).Sub(now); in > 0 && in <= nextLook {
		c.queue.AddAfter(namespace, in)
		return nil
	}
	again, err := c.reconcile(ctx, namespace)
	if again > 0 && err == nil {
		c.memory.pauseUntil(namespace, now.Add(nextLook))
	}
	if again > 0 {
		c.queue.AddAfter(namespace, again)
	}
	return err
}
