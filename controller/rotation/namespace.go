// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// reconcileNamespace enqueues each domain of the namespace, reports what is wrong with the configurations, and
// updates the aggregates.
func (c *Controller) reconcileNamespace(ctx context.Context, k key) error {
	namespace := c.inventory.Namespace(k.namespace)
	for _, gone := range c.reported.without(k.namespace, namespace) {
		c.queue.Add(gone)
	}
	if namespace == nil {
		c.forget(k)
		return nil
	}
	for _, d := range namespace.Domains {
		c.queue.Add(key{namespace: k.namespace, domain: d.Name})
	}
	c.queue.Add(key{namespace: k.namespace, status: true})
	c.reportProblems(k, nil, configurationProblems(namespace))

	sources := c.inventory.Sources(k.namespace)
	switch state, wait := c.expected.check(k, sources); state {
	case behind:
		c.queue.AddAfter(k, wait)
		return nil
	case lost:
		live, err := c.inventory.Live(ctx, k.namespace)
		if err != nil {
			return fmt.Errorf("read namespace %s live: %w", k.namespace, err)
		}
		if namespace = inventory.Build(live); namespace == nil {
			return nil
		}
		sources = live
	case fresh:
	}
	return c.reconcileAggregates(ctx, k, sources, namespace)
}

func (c *Controller) reconcileAggregates(ctx context.Context, k key, sources *inventory.Sources, namespace *inventory.Namespace) error {
	m := membersOf(namespace)
	// A refused write of an aggregate belongs to no single domain.
	spanning := &trust.Domain{Namespace: k.namespace, Refusals: recordedRefusals(sources)}
	var all []trust.Action
	var errs []error
	for _, agg := range namespace.Aggregates {
		m.revision = latestRevision(sources, namespace, agg)
		actions, blockers := trust.AssessAggregate(agg, m.leaves, m.bundles)
		if len(blockers) > 0 {
			klog.FromContext(ctx).V(4).Info("An aggregate waits", "secret", agg.Secret.Name, "blockers", len(blockers))
		}
		all = append(all, actions...)
		due := c.due(k, actions)
		for i := range due {
			errs = append(errs, c.perform(ctx, k, spanning, aggregateContent{c, k.namespace, agg, m}, &due[i]))
		}
	}
	return errors.Join(append(errs, c.withdrawOthers(ctx, k, namespace, spanning.Refusals, all))...)
}

func configurationProblems(n *inventory.Namespace) []trust.Problem {
	problems := append([]trust.Problem(nil), n.Problems...)
	for _, agg := range n.Aggregates {
		for _, p := range []*trust.Problem{agg.Secret.Problem, agg.ConfigMap.Problem} {
			if p != nil {
				problems = append(problems, *p)
			}
		}
	}
	return problems
}
