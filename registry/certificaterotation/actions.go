// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/clock"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// fieldManager owns the fields that the subresources write.
const fieldManager = "certrotation-api"

// maxSettle bounds how long a request waits for the inventory, to learn a namespace or to observe a write.
const maxSettle = 10 * time.Second

// Inventory is the part of inventory.Inventory that the subresources need.
type Inventory interface {
	HasSynced() bool
	Namespace(namespace string) *inventory.Namespace
	Sources(namespace string) *inventory.Sources
	Await(ctx context.Context, namespace string) error
	OnChange(fn func(namespace string))
}

// ActionsConfig configures the subresources. Fields without a default are required.
type ActionsConfig struct {
	Inventory Inventory
	// Client writes RotationRecords: requests, reports and waivers.
	Client versioned.Interface
	// Authorizer is the authorizer of this API server. It decides who may acknowledge for a member whose party names
	// no reporters.
	Authorizer authorizer.Authorizer
	// Clock defaults to the system clock.
	Clock clock.PassiveClock
}

// Actions is the state that the subresources share.
type Actions struct {
	inventory Inventory
	client    versioned.Interface
	// authorizer checks rights under the names of members, see reporter.go.
	authorizer authorizer.Authorizer
	clock      clock.PassiveClock
	settle     time.Duration
	changes    *changes
}

// NewActions must be called before the inventory starts, because it registers for changes.
func NewActions(config ActionsConfig) (*Actions, error) {
	if config.Inventory == nil || config.Client == nil || config.Authorizer == nil {
		return nil, errors.New("subresources need an inventory, a client and an authorizer")
	}
	a := &Actions{
		inventory:  config.Inventory,
		client:     config.Client,
		authorizer: config.Authorizer,
		clock:      config.Clock,
		settle:     maxSettle,
		changes:    newChanges(),
	}
	if a.clock == nil {
		a.clock = clock.RealClock{}
	}
	a.inventory.OnChange(a.changes.announce)
	return a, nil
}

type target struct {
	namespace, name string
	domain          *trust.Domain
	// object is the observed state of its Secret.
	object *trust.Object
	signer bool
}

func (a *Actions) find(ctx context.Context, name string) (*target, error) {
	if !a.inventory.HasSynced() {
		return nil, apierrors.NewServiceUnavailable("the certificates are not known yet, try again")
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	if err := a.settled(ctx, namespace); err != nil {
		return nil, apierrors.NewServiceUnavailable("the certificates of the namespace are not known yet, try again")
	}
	known := a.inventory.Namespace(namespace)
	if known == nil {
		return nil, apierrors.NewNotFound(resource(), name)
	}
	for _, domain := range known.Domains {
		if domain.Signer.Name == name {
			return &target{namespace: namespace, name: name, domain: domain, object: &domain.Signer.Object, signer: true}, nil
		}
		for i := range domain.Leaves {
			if domain.Leaves[i].Name == name {
				return &target{namespace: namespace, name: name, domain: domain, object: &domain.Leaves[i].Object}, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(resource(), name)
}

// settled waits for a namespace that has just got its first configuration.
func (a *Actions) settled(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, a.settle)
	defer cancel()
	return a.inventory.Await(ctx, namespace)
}

// refused converts an error of registry/trust into an API error: a refusal is a conflict with the present state.
func refused(name string, err error) error {
	if refusal, ok := errors.AsType[*trust.Refusal](err); ok {
		return apierrors.NewConflict(resource(), name, refusal)
	}
	return apierrors.NewInternalError(err)
}

// await waits until seen reports true. The write has succeeded by then, so a timeout adds a warning and returns no
// error.
func (a *Actions) await(ctx context.Context, namespace string, seen func() bool) {
	ctx, cancel := context.WithTimeout(ctx, a.settle)
	defer cancel()
	for {
		changed := a.changes.next(namespace)
		if seen() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			warning.AddWarning(ctx, "", "the request is recorded; this server has not seen it yet, so that what it shows may lag behind")
			return
		}
	}
}
