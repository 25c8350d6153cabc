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

// Bounds of the retries of one namespace.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// workers restart workloads, each in another namespace.
const workers = 2

const (
	// nextLook is how long after a look the next one is taken at workloads that come on by themselves, and nextAppeal after
	// one at workloads that all wait for a person.
	nextLook   = 5 * time.Second
	nextAppeal = 30 * time.Second
)

// Inventory is what the controller asks of registry/view/inventory.
type Inventory interface {
	// Managed says whether a namespace is.
	Managed(namespace string) bool
	// Sources and Namespace answer from the cache, nil if there is no configuration.
	Sources(namespace string) *inventory.Sources
	Namespace(namespace string) *inventory.Namespace
}

// Members is what the controller asks of controller/etcdhealth.
type Members interface {
	// CheckPods asks the members of an etcd cluster that are these pods, now.
	CheckPods(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, pods []*corev1.Pod) (quorum.Observation, error)
}

// Due says which workloads a domain needs to have restarted, at most one of a party. known are those of the namespace that were
// looked at.
type Due func(d *trust.Domain, now time.Time, known map[trust.Workload]trust.Progress) []trust.Restart

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Own reads configurations, and writes records.
	Own       configclient.ConfigV1alpha1Interface
	Inventory Inventory
	Due       Due
	Members   Members
	// Enabled has workloads restarted. Otherwise those that are due are named as blockers.
	Enabled bool
	// SystemNamespace is that of this installation, for what is said of the account that needs a right.
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

// NamespaceChanged has a namespace looked at. It does not block.
func (c *Controller) NamespaceChanged(namespace string) { c.queue.Add(namespace) }

// Run works until ctx ends. A write that is in progress then is finished first.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx) }

// work takes a look. Each pod that is replaced changes the namespace: while workloads are on their way it is looked at now and
// then, and not for each of them.
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
