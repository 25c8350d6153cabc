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

// API is what an instance needs of a cluster; kubernetes.Interface.CoreV1() has it. Pods are asked for only when something could be
// deleted.
type API interface {
	typedcorev1.SecretsGetter
	typedcorev1.PodsGetter
}

// Reader returns what an instance has generated.
type Reader interface {
	// Get returns the Secret of a name, and whether there is one: the bundle if there is one and no option says otherwise.
	Get(name string, options ...GetOption) (*corev1.Secret, bool)
}

// Interface is what an Instance does.
type Interface interface {
	Reader
	// Generate returns the Secret of a configuration, which is made if it is not there.
	Generate(ctx context.Context, config kinds.Config, options ...GenerateOption) (*corev1.Secret, error)
	// Identity is who the Secrets belong to.
	Identity() string
	// Plan is what was done so far, or with WithPlanOnly would have been done.
	Plan() edition.Plan
	// Cleanup deletes what nobody needs any more. It is called when everything was asked for.
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
	// stored are the Secrets of this identity by their names, as they were read or made, and editions what matters of them.
	stored   map[types.NamespacedName]*corev1.Secret
	editions map[types.NamespacedName]*edition.Edition
	// candidates are foreign Secrets whose data are to be taken, by namespace, where they were read.
	candidates map[string][]corev1.Secret
	rotations  map[string]edition.Rotation
	// entries are what was generated or loaded, by name, and asked all objects that were asked for, with what each is.
	entries map[string]*entry
	asked   map[types.NamespacedName]string
	// authorities are parsed once.
	authorities map[types.NamespacedName]*kinds.Certificate
	plan        edition.Plan
	run         run
}

// entry is what an instance knows of a name.
type entry struct {
	current, old, bundle *corev1.Secret
	// loaded says that the name was not generated, only signed with.
	loaded bool
}

// New makes an instance. It reads the Secrets of the identity in its namespaces, to see what has to be renewed, unless
// WithoutAutomaticSecretRenewal is given. The identity is that of the controller and of its purpose: two instances of one identity must
// ask for the same, as each cleans up what it has not asked for.
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
	if !i.settings.noRenewal {
		if err := i.list(ctx); err != nil {
			return nil, fmt.Errorf("look for secrets to renew: %w", err)
		}
		i.rotations = edition.Rotations(i.byName(), i.settings.authorities, c.Now())
	}
	for name, at := range i.settings.given {
		i.rotations[name] = edition.Rotation{Time: edition.UnixText(at)}
	}
	return i, nil
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
