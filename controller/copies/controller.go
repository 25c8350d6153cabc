// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"slices"
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
	"certrotation.dev/controller/remote"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// FieldManager owns what this controller writes.
const FieldManager = "certrotation-copies"

// Bounds of the retries of one copy.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute
)

// workers make copies concurrently, each for another source or destination. The copies of one namespace occupy at
// most half of them.
const workers = 4

// remoteWorkers make copies in other clusters concurrently, one for each cluster at most.
const remoteWorkers = 2 * remote.DefaultRetries

// target is where a copy is; cluster is "" for this one.
type target struct {
	kind                     configv1alpha1.CopyKind
	cluster, namespace, name string
}

func (t target) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: t.name}
}

// place is the namespace for people.
func (t target) place() string { return trust.PlaceOf(t.cluster, t.namespace) }

// key is an entry of the queue: a copy that the configurations of a namespace ask for, or, with an empty target, all
// of them.
type key struct {
	from string
	target
}

// String is KIND NAMESPACE/NAME with the cluster, or the namespace of the sources.
func (k key) String() string {
	if k.target == (target{}) {
		return k.from
	}
	return string(k.kind) + " " + k.where()
}

// where is NAMESPACE/NAME, with the cluster unless that is this one.
func (k key) where() string {
	if k.cluster == "" {
		return k.namespace + "/" + k.name
	}
	return k.namespace + "/" + k.name + " of cluster " + k.cluster
}

// within reports whether the copy is in the namespace of its source.
func (k key) within() bool { return k.cluster == "" && k.namespace == k.from }

func keyOf(from string, cp *configv1alpha1.Copy) key {
	return key{from: from, target: target{kind: cp.Kind, cluster: cp.Cluster, namespace: cp.ToNamespace, name: cp.ToName}}
}

// Inventory is the part of registry/view/inventory that the controller uses.
type Inventory interface {
	// Namespace answers from the cache, nil if there is no configuration.
	Namespace(namespace string) *inventory.Namespace
}

// Clusters is the part of controller/remote that the controller uses.
type Clusters interface {
	Client(ctx context.Context, namespace string, of *inventory.Cluster) (kubernetes.Interface, error)
	Keep(namespace string, named func(cluster string) bool)
	Silent() map[string]int
}

// Config of a Controller.
type Config struct {
	Client kubernetes.Interface
	// Configurations is read before a copy is deleted that no configuration asks for.
	Configurations configclient.RotationConfigurationsGetter
	Inventory      Inventory
	Recorder       events.EventRecorder
	// Clusters connects to other clusters. Nil means that copies into them are left as they are, as in an in-memory API.
	Clusters Clusters
	// Metadata watches the copies and the Namespaces. It is nil if nothing else writes them, as in an in-memory API.
	Metadata metadata.Interface
	// Namespaces limits watches and writes to these namespaces, which count as managed. Empty means all.
	Namespaces []string
	// Metrics registers the metrics, nil for none.
	Metrics metrics.KubeRegistry
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Controller keeps copies. Make one with New.
type Controller struct {
	client         kubernetes.Interface
	configurations configclient.RotationConfigurationsGetter
	inventory      Inventory
	clusters       Clusters
	recorder       events.EventRecorder
	clock          clock.WithTicker
	// queue has the copies in this cluster, remotes those in others.
	queue, remotes *worker.Queue[key]
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
		client: cfg.Client, configurations: cfg.Configurations, inventory: cfg.Inventory, clusters: cfg.Clusters, recorder: cfg.Recorder, clock: cfg.Clock,
		memory: newMemory(),
	}
	queue := worker.Config[key]{
		Name: "copies", Work: c.reconcile, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry, Clock: cfg.Clock,
		Namespace: func(k key) string { return k.from },
		Describe: func(k key) []any {
			return []any{"from", k.from, "kind", k.kind, "cluster", k.cluster, "copy", klog.KRef(k.namespace, k.name)}
		},
		Benign: []func(error) bool{func(err error) bool { return obstacleOf(err) != nil }},
	}
	c.queue = worker.New(queue)
	queue.Name, queue.Workers, queue.Share, queue.LastRetry = "remote_copies", remoteWorkers, 1, remote.LastPause
	queue.Namespace = func(k key) string { return k.from + "/" + k.cluster }
	c.remotes = worker.New(queue)
	var err error
	if c.watches, err = newWatches(cfg.Metadata, cfg.Namespaces, c); err != nil {
		return nil, err
	}
	c.metrics = newMeters(c.memory, cfg.Clusters)
	c.by = apply.By{FieldManager: FieldManager, Count: c.metrics.wrote}
	if cfg.Metrics != nil {
		c.metrics.register(cfg.Metrics)
	}
	return c, nil
}

// NamespaceChanged enqueues the copies whose sources are in a namespace. It does not block.
func (c *Controller) NamespaceChanged(namespace string) {
	c.queue.Add(key{from: namespace})
}

// changed enqueues a copy that any client, including this one, has written or deleted, whether or not it is wanted.
func (c *Controller) changed(t target, object metav1.Object) {
	if from, name, ok := sourceOf(object, trust.LabelCopyOf); ok {
		c.memory.know(key{from: from, target: t}, name)
	}
	c.add(c.memory.of(t)...)
}

// consentChanged enqueues every copy from or to a namespace.
func (c *Controller) consentChanged(namespace string) {
	c.NamespaceChanged(namespace)
	c.add(c.memory.within(namespace)...)
}

func (c *Controller) add(keys ...key) {
	for _, k := range keys {
		c.queueOf(k).Add(k)
	}
}

// queueOf is the queue of a copy, or of a namespace.
func (c *Controller) queueOf(k key) *worker.Queue[key] {
	if k.cluster == "" {
		return c.queue
	}
	return c.remotes
}

// Run works until ctx ends, and first finishes a write in progress.
func (c *Controller) Run(ctx context.Context) {
	var watching sync.WaitGroup
	c.watches.run(ctx, &watching)
	c.watches.sync(ctx)
	watching.Go(func() { c.remotes.Run(ctx) })
	c.queue.Run(ctx)
	watching.Wait()
}

// Reconcile reconciles every copy whose source is in a namespace once, as a worker does. It is for callers that drive
// reconciliation themselves, such as a bootstrap; all others call Run.
func (c *Controller) Reconcile(ctx context.Context, namespace string) error {
	var errs []error
	for _, k := range c.replaceNamespace(namespace) {
		errs = append(errs, c.queueOf(k).Do(ctx, k))
	}
	return errors.Join(errs...)
}

func (c *Controller) reconcile(ctx context.Context, k key) error {
	if k.target != (target{}) {
		return c.reconcileCopy(ctx, k)
	}
	c.add(c.replaceNamespace(k.from)...)
	return nil
}

// replaceNamespace returns the copies of a namespace, and drops connections to clusters that have none.
func (c *Controller) replaceNamespace(namespace string) []key {
	keys := c.memory.replaceNamespace(namespace, c.inventory.Namespace(namespace))
	if c.clusters == nil {
		return slices.DeleteFunc(keys, func(k key) bool { return k.cluster != "" })
	}
	c.keepClusters(namespace)
	return keys
}
