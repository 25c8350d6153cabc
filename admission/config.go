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
	// liveTimeout stays below the webhook timeout of 3 seconds, after which kube-apiserver gives up.
	liveTimeout = 2 * time.Second
	// bodyTimeout is far longer than the transfer of a review of the largest Secret takes.
	bodyTimeout = 2 * time.Second
	// maxInFlight bounds memory: a review may hold a body of 8 MiB and its decoded objects. A review takes about a
	// millisecond.
	maxInFlight = 32
)

// Inventory is the part of the shared view that the guard reads.
type Inventory interface {
	// HasSynced reports whether the other methods return complete answers.
	HasSynced() bool
	// Managed reports whether a namespace has opted in.
	Managed(namespace string) bool
	// Await waits until the view knows the namespace, if it has a configuration.
	Await(ctx context.Context, namespace string) error
	// Namespace returns the model of a namespace, nil if it has no configuration.
	Namespace(namespace string) *inventory.Namespace
	// Sources returns the facts behind Namespace, nil if there are none.
	Sources(namespace string) *inventory.Sources
	// Live returns the same facts from live reads.
	Live(ctx context.Context, namespace string) (*inventory.Sources, error)
}

// Config of a Handler.
type Config struct {
	// Inventory is the shared view. Required.
	Inventory Inventory
	// Client reads Namespaces, to detect one that is being deleted. If nil, none is.
	Client kubernetes.Interface
	// Clock tells the time at which an edit is judged. Defaults to the system clock.
	Clock clock.PassiveClock
	// RecordWriters are the user names of certrotation itself, which may write RotationRecords. If empty, RBAC alone
	// decides.
	RecordWriters []string
	// Register registers the metrics, such as legacyregistry.Register. If nil, no metrics are kept.
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
	// inFlight holds one entry for each review in progress.
	inFlight chan struct{}
	reads    *liveReads
	metrics  *meters
}

// New returns a Handler. It fails if a required field is missing or the metrics are already registered.
func New(cfg Config) (*Handler, error) {
	if cfg.Inventory == nil {
		return nil, errors.New("admission: Inventory is required")
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
