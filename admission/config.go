// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
	"k8s.io/utils/set"

	"certrotation.dev/registry/view/inventory"
)

const (
	// liveTimeout leaves room within the 3 seconds after which kube-apiserver gives up on the webhook.
	liveTimeout = 2 * time.Second
	// bodyTimeout is far more than a review of the largest Secret takes on its way.
	bodyTimeout = 2 * time.Second
	// maxInFlight bounds the memory of reviews: each may hold a body of 8 MiB and what is decoded of it. A review takes
	// about a millisecond.
	maxInFlight = 32
)

// Inventory is what the guard asks the shared view.
type Inventory interface {
	// HasSynced says whether the other methods are complete.
	HasSynced() bool
	// Managed says whether a namespace has opted in.
	Managed(namespace string) bool
	// Await waits until a namespace is known, if it has a configuration.
	Await(ctx context.Context, namespace string) error
	// Namespace returns what is known of a namespace, nil if it has no configuration.
	Namespace(namespace string) *inventory.Namespace
	// Sources returns the facts behind it, nil if there are none.
	Sources(namespace string) *inventory.Sources
	// Live returns the same facts from live reads.
	Live(ctx context.Context, namespace string) (*inventory.Sources, error)
}

// Config of a Handler.
type Config struct {
	// Inventory is the shared view. Required.
	Inventory Inventory
	// Client reads Namespaces, to see whether one is being deleted. Required.
	Client kubernetes.Interface
	// Clock tells at what time an edit is judged. Defaults to the system's clock.
	Clock clock.PassiveClock
	// RecordWriters are the names of the users that may write RotationRecords: those of certrotation itself. Empty means
	// that RBAC alone decides.
	RecordWriters []string
	// Register registers the metrics, such as legacyregistry.Register. Without it none are kept.
	Register func(metrics.Registerable) error
}

// Handler answers admission reviews over HTTP.
type Handler struct {
	inventory   Inventory
	client      kubernetes.Interface
	clock       clock.PassiveClock
	writers     set.Set[string]
	liveTimeout time.Duration
	bodyTimeout time.Duration
	// inFlight holds one entry for each review that is judged.
	inFlight chan struct{}
	reads    *liveReads
	metrics  *meters
}

// New returns a Handler. It fails if something required is missing or the metrics are registered already.
func New(cfg Config) (*Handler, error) {
	if cfg.Inventory == nil {
		return nil, errors.New("admission: Inventory is required")
	}
	if cfg.Client == nil {
		return nil, errors.New("admission: Client is required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	m := newMeters()
	if cfg.Register != nil {
		if err := m.register(cfg.Register); err != nil {
			return nil, fmt.Errorf("register metrics of admission: %w", err)
		}
	}
	h := &Handler{
		inventory:   cfg.Inventory,
		client:      cfg.Client,
		clock:       cfg.Clock,
		writers:     set.New(cfg.RecordWriters...),
		liveTimeout: liveTimeout,
		bodyTimeout: bodyTimeout,
		inFlight:    make(chan struct{}, maxInFlight),
		metrics:     m,
	}
	h.reads = newLiveReads(h.readLive)
	return h, nil
}
