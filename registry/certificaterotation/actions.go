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

// maxSettle is how long a request waits for its own write to be seen, unless its context ends before.
const maxSettle = 10 * time.Second

// Inventory is what the subresources need of inventory.Inventory.
type Inventory interface {
	HasSynced() bool
	Namespace(namespace string) *inventory.Namespace
	Sources(namespace string) *inventory.Sources
	Await(ctx context.Context, namespace string) error
	OnChange(fn func(namespace string))
}

// ActionsConfig configures the subresources. Everything without a default is required.
type ActionsConfig struct {
	Inventory Inventory
	// Client writes records: requests, reports and waivers.
	Client versioned.Interface
	// Authorizer says who may acknowledge for a member whose party names no reporters: that of this API server.
	Authorizer authorizer.Authorizer
	// Clock defaults to the system clock.
	Clock clock.PassiveClock
}

// Actions is what the subresources share.
type Actions struct {
	inventory Inventory
	client    versioned.Interface
	// authorizer is asked about names of members, see reporter.go.
	authorizer authorizer.Authorizer
	clock      clock.PassiveClock
	settle     time.Duration
	changes    *changes
}

// NewActions is called before the inventory starts: it has itself told of changes.
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

// target is the certificate that a request is about.
type target struct {
	namespace, name string
	domain          *trust.Domain
	// object is what is known of its Secret.
	object *trust.Object
	signer bool
}

// find returns the certificate of a request, or the API error to answer with.
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

// settled waits for a namespace that got its first configuration just now.
func (a *Actions) settled(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, a.settle)
	defer cancel()
	return a.inventory.Await(ctx, namespace)
}

// refused turns what the model answers into an API error: a refusal is a conflict with the present state.
func refused(name string, err error) error {
	if refusal, ok := errors.AsType[*trust.Refusal](err); ok {
		return apierrors.NewConflict(resource(), name, refusal)
	}
	return apierrors.NewInternalError(err)
}

// await waits until seen is true of what the inventory answers. What was written is written: a request whose write is
// not seen in time is answered with a warning and no error.
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
