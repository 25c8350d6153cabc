// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// API is the part of kubernetes.Interface.CoreV1() that an instance uses. It reads pods only if something could be
// deleted.
type API interface {
	typedcorev1.SecretsGetter
	typedcorev1.PodsGetter
}

// Reader returns what an instance has generated.
type Reader interface {
	// Get returns the Secret of a name, and whether there is one. Without an option it prefers the bundle, if there
	// is one.
	Get(name string, options ...GetOption) (*corev1.Secret, bool)
}

// Interface is what an Instance does.
type Interface interface {
	Reader
	// Generate returns the Secret of a configuration, and makes it if it does not exist.
	Generate(ctx context.Context, config kinds.Config, options ...GenerateOption) (*corev1.Secret, error)
	// Identity is the owner of the Secrets, by its label.
	Identity() string
	// Plan is what was done so far, or would have been done with WithPlanOnly.
	Plan() edition.Plan
	// Cleanup deletes what is no longer needed. Call it after all calls of Generate.
	Cleanup(ctx context.Context) error
}

var _ Interface = (*Instance)(nil)

// Instance keeps the secrets of one identity for one reconciliation. Make one with New.
type Instance struct {
	api      API
	clock    clock.PassiveClock
	log      klog.Logger
	identity string
	settings settings

	// listing is held while the cluster is read.
	listing sync.Mutex
	listed  bool

	mu sync.Mutex
	// stored are the Secrets of this identity by name, as they were read or made. editions is what the rules need of
	// them.
	stored   map[types.NamespacedName]*corev1.Secret
	editions map[types.NamespacedName]*edition.Edition
	// candidates are foreign Secrets that offer their data, by namespace. It has only namespaces that were read.
	candidates map[string][]corev1.Secret
	rotations  map[string]edition.Rotation
	// entries are what was generated or loaded, by name. asked are all objects that were asked for, each with its
	// role.
	entries map[string]*entry
	asked   map[types.NamespacedName]string
	// authorities caches parsed CAs.
	authorities map[types.NamespacedName]*kinds.Certificate
	plan        edition.Plan
	run         run
}

type entry struct {
	current, old, bundle *corev1.Secret
	// loaded means that the name was not generated, only signed with.
	loaded bool
}

// New makes an instance. It reads the Secrets of the identity in its namespaces to see what must be renewed, unless
// WithoutAutomaticSecretRenewal is given. The identity names the controller and its purpose. Two instances of one
// identity must ask for the same, because each cleans up the rest.
func New(ctx context.Context, c clock.PassiveClock, api API, identity string, options ...Option) (*Instance, error) {
	i := &Instance{
		api: api, clock: c, log: klog.FromContext(ctx), identity: identity,
		stored: map[types.NamespacedName]*corev1.Secret{}, editions: map[types.NamespacedName]*edition.Edition{},
		candidates: map[string][]corev1.Secret{}, rotations: map[string]edition.Rotation{}, entries: map[string]*entry{}, asked: map[types.NamespacedName]string{},
		authorities: map[types.NamespacedName]*kinds.Certificate{}, run: run{failed: map[string]error{}},
	}
	for _, option := range options {
		option(&i.settings)
	}
	if len(i.settings.namespaces) == 0 {
		return nil, ErrNoNamespace
	}
	if err := checkIdentity(identity); err != nil {
		return nil, err
	}
	if err := i.rotate(ctx); err != nil {
		return nil, err
	}
	return i, nil
}

// rotate decides when the rotation of each name last began.
func (i *Instance) rotate(ctx context.Context) error {
	if !i.settings.noRenewal || i.settings.lacksTimes() {
		if err := i.list(ctx); err != nil {
			return fmt.Errorf("look for secrets to renew: %w", err)
		}
	}
	byName := i.byName()
	if !i.settings.noRenewal {
		i.rotations = edition.Rotations(byName, i.settings.authorities, i.clock.Now())
	}
	for name, at := range i.settings.given {
		i.rotations[name] = edition.Rotation{Time: edition.UnixText(at)}
	}
	for name, state := range i.settings.rotating {
		i.rotations[name] = edition.Rotation{Time: state.Began(byName[name])}
	}
	return nil
}

// Identity implements Interface.
func (i *Instance) Identity() string { return i.identity }

// Plan implements Interface.
func (i *Instance) Plan() edition.Plan {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.plan.Sorted()
}

func (i *Instance) manages(namespace string) bool {
	return slices.Contains(i.settings.namespaces, namespace)
}
