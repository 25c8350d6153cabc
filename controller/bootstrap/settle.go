// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// maxRounds bounds the rounds of reconciliation. A new trust domain takes a handful.
const maxRounds = 100

// Settle runs the rotation controller on a namespace until nothing is left to do, and checks that the result is
// complete.
func Settle(ctx context.Context, api *API, namespace string) error {
	controller, err := rotation.New(rotation.Config{
		Client: api.client, Records: api.records, Inventory: api, Recorder: silent{}, Clock: frozen{now: api.now}, Workers: 1,
	})
	if err != nil {
		return fmt.Errorf("make the rotation controller: %w", err)
	}
	defer end(ctx, controller)
	for range maxRounds {
		before := api.version
		if err := round(ctx, controller, api, namespace); err != nil {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
		if api.version == before {
			return complete(api, namespace)
		}
	}
	return fmt.Errorf("namespace %s: the controller still writes after %d rounds", namespace, maxRounds)
}

// frozen is a clock that stands still at the time of the API: nothing falls due meanwhile.
type frozen struct {
	clock.RealClock
	now time.Time
}

func (f frozen) Now() time.Time { return f.now }

func (f frozen) Since(t time.Time) time.Duration { return f.now.Sub(t) }

// end ends the goroutines of the queue of a controller that never ran.
func end(ctx context.Context, controller *rotation.Controller) {
	ended, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	cancel()
	controller.Run(ended)
}

// round reconciles every domain once, and then the aggregates.
func round(ctx context.Context, controller *rotation.Controller, api *API, name string) error {
	if namespace := api.Namespace(name); namespace != nil {
		for _, domain := range namespace.Domains {
			if err := controller.Reconcile(ctx, name, domain.Name); err != nil {
				return fmt.Errorf("trust domain %s: %w", domain.Name, err)
			}
		}
	}
	if err := controller.Reconcile(ctx, name, ""); err != nil {
		return fmt.Errorf("aggregates: %w", err)
	}
	return nil
}

// complete returns everything that keeps a namespace from being usable.
func complete(api *API, name string) error {
	namespace := api.Namespace(name)
	if namespace == nil {
		return fmt.Errorf("namespace %s has no RotationConfiguration", name)
	}
	var errs []error
	refuse := func(object, message string) {
		errs = append(errs, fmt.Errorf("namespace %s: %s: %s", name, object, message))
	}
	for i := range namespace.Problems {
		refuse(namespace.Problems[i].Object, namespace.Problems[i].Message)
	}
	for _, domain := range namespace.Domains {
		a := trust.Assess(domain, api.now)
		for i := range a.Problems {
			refuse(a.Problems[i].Object, a.Problems[i].Message)
		}
		for i := range a.Blockers {
			refuse(a.Blockers[i].Object+a.Blockers[i].Party, a.Blockers[i].Message)
		}
		if a.Stage != trust.Stable || len(a.Actions) > 0 {
			refuse("trust domain "+domain.Name, fmt.Sprintf("it is %s and has %d actions left", a.Stage, len(a.Actions)))
		}
		for _, leaf := range a.Leaves {
			if !leaf.Usable || leaf.SignedBySlot != trust.SlotActive {
				refuse("Secret/"+leaf.Name, "the leaf is not usable")
			}
		}
	}
	errs = append(errs, completeAggregates(namespace)...)
	return errors.Join(errs...)
}

func completeAggregates(namespace *inventory.Namespace) []error {
	leaves, bundles := map[string]*trust.Leaf{}, map[string]*trust.Bundle{}
	for _, domain := range namespace.Domains {
		bundles[domain.Bundle.Name] = &domain.Bundle
		for i := range domain.Leaves {
			leaves[domain.Leaves[i].Name] = &domain.Leaves[i]
		}
	}
	var errs []error
	for _, aggregate := range namespace.Aggregates {
		actions, blockers := trust.AssessAggregate(aggregate, leaves, bundles)
		if len(actions)+len(blockers) > 0 {
			errs = append(errs, fmt.Errorf("namespace %s: Secret/%s: the aggregate is not complete: %d actions and %d blockers are left",
				namespace.Name, aggregate.Secret.Name, len(actions), len(blockers)))
		}
	}
	return errs
}

// silent drops events: there is no API to store them.
type silent struct{}

var _ events.EventRecorder = silent{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// Adopt simulates the start of a controller after the manifests exist in a real API. It fails if the controller
// changes any of them, or if the content of revision 1 does not match its status. The nodes come from the input.
func Adopt(ctx context.Context, in *Input, manifests map[string][]byte, now time.Time) error {
	again := &Input{}
	for _, node := range of[*corev1.Node](in) {
		again.known = append(again.known, node)
	}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if err := again.read(manifests[name]); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if err := again.validate(); err != nil {
		return err
	}
	api, err := NewAPI(now, again.known...)
	if err != nil {
		return err
	}
	for _, name := range again.namespaces() {
		namespace := api.Namespace(name)
		if namespace == nil {
			continue
		}
		if err := Settle(ctx, api, name); err != nil {
			return err
		}
		for _, rollout := range namespace.Rollouts {
			if err := sameRevision(api, name, rollout); err != nil {
				return fmt.Errorf("namespace %s: rollout %s: %w", name, rollout.Config.Name, err)
			}
		}
	}
	if writes := api.Changes(); len(writes) > 0 {
		return fmt.Errorf("the controller would change what was rendered: %s", strings.Join(writes, ", "))
	}
	return nil
}

// sameRevision compares the sources and their copies with the status.
func sameRevision(api *API, namespace string, rollout *inventory.Rollout) error {
	status, err := get[*corev1.ConfigMap](api, namespace, nodepod.StatusName(first))
	if err != nil {
		return err
	}
	said, _ := nodepod.ReadStatus(status)
	for _, named := range []func(string) string{asNamed, ofFirst} {
		content, err := contentOf(api, namespace, rollout, named)
		if err != nil {
			return err
		}
		if content.ContentHash() != said.ContentHash || content.RestartHash() != said.RestartHash {
			return errors.New("revision 1 is not the content of its sources")
		}
	}
	return nil
}
