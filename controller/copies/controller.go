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
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/internal/worker"
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

// target is where a copy is.
type target struct {
	kind            configv1alpha1.CopyKind
	namespace, name string
}

func (t target) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: t.name}
}

// key is an entry of the queue: a copy that the configurations of a namespace ask for, or, with an empty target, all of
// them.
type key struct {
	from string
	target
}

// String is KIND NAMESPACE/NAME, or the namespace of the sources.
func (k key) String() string {
	if k.target == (target{}) {
		return k.from
	}
	return string(k.kind) + " " + k.namespace + "/" + k.name
}

func keyOf(from string, cp *configv1alpha1.Copy) key {
	return key{from: from, target: target{kind: cp.Kind, namespace: cp.ToNamespace, name: cp.ToName}}
}

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
	Metrics metrics.KubeRegistry
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
	queue          *worker.Queue[key]
	by             apply.By
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
		memory: newMemory(),
	}
	c.queue = worker.New(worker.Config[key]{
		Name: "copies", Work: c.reconcile, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(k key) string { return k.from },
		Describe: func(k key) []any {
			return []any{"from", k.from, "kind", k.kind, "copy", klog.KRef(k.namespace, k.name)}
		},
		Benign: []func(error) bool{func(err error) bool { return obstacleOf(err) != nil }},
	})
	var err error
	if c.watches, err = newWatches(cfg.Metadata, cfg.Namespaces, c); err != nil {
		return nil, err
	}
	c.metrics = newMeters(c.memory)
	c.by = apply.By{FieldManager: FieldManager, Count: c.metrics.wrote}
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
	var watching sync.WaitGroup
	c.watches.run(ctx, &watching)
	c.watches.sync(ctx)
	c.queue.Run(ctx)
	watching.Wait()
}

// Reconcile looks once at every copy whose source is in a namespace, as the worker would. It is for whoever decides by
// itself what happens when, such as a bootstrap; everybody else calls Run.
func (c *Controller) Reconcile(ctx context.Context, namespace string) error {
	var errs []error
	for _, k := range c.memory.replaceNamespace(namespace, c.inventory.Namespace(namespace)) {
		errs = append(errs, c.queue.Do(ctx, k))
	}
	return errors.Join(errs...)
}

func (c *Controller) reconcile(ctx context.Context, k key) error {
	if k.target != (target{}) {
		return c.reconcileCopy(ctx, k)
	}
	for _, one := range c.memory.replaceNamespace(k.from, c.inventory.Namespace(k.from)) {
		c.queue.Add(one)
	}
	return nil
}
