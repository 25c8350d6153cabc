// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// firstLookRetry is the requeue delay while some member was not observed since the start. NamespaceChanged may come
// earlier.
const firstLookRetry = 5 * time.Second

// leastRecheck is the least time between two passes that are due by time alone: thousands of members have leases that
// end one after another.
const leastRecheck = time.Second

// reconcile brings one trust domain one step further, if there is anything to do. Namespace and status keys have
// passes of their own.
func (c *Controller) reconcile(ctx context.Context, k key) error {
	switch {
	case k.status:
		return c.reconcileStatuses(ctx, k)
	case k.domain == "":
		return c.reconcileNamespace(ctx, k)
	}
	d, err := c.currentDomain(ctx, k)
	if d == nil || err != nil {
		return err
	}
	d, unproven, err := c.withAbsences(ctx, k, d)
	if err != nil {
		return err
	}
	now := c.clock.Now()
	d, a, err := c.assessByClock(ctx, k, withRefusals(d, c.refused.merge(k, d.Refusals)))
	if err != nil {
		return err
	}
	c.report(k, d, a)
	told := c.recordClock(ctx, k, d, a)
	if !a.Recheck.IsZero() {
		c.queue.AddAfter(k, max(a.Recheck.Sub(now), leastRecheck))
	}
	if unproven && a.InFlight() {
		// A member may be gone for good without a change of any watched object.
		c.queue.AddAfter(k, absenceRetry)
	}
	actions := c.withRetries(d, a)
	if len(actions) > 0 && c.evidence != nil && !c.evidence.LookedOnce(k.namespace, k.domain) {
		// Evidence that was recorded before the start may have been refuted since.
		c.queue.AddAfter(k, firstLookRetry)
		return told
	}
	return errors.Join(told, c.performAll(ctx, k, d, actions))
}

// currentDomain returns the domain after all writes of this controller, nil if the cache is behind or the domain is
// gone.
func (c *Controller) currentDomain(ctx context.Context, k key) (*trust.Domain, error) {
	state, wait := c.expected.check(k, c.inventory.Sources(k.namespace))
	switch state {
	case behind:
		c.queue.AddAfter(k, wait)
		return nil, nil
	case lost:
		klog.FromContext(ctx).V(2).Info("The cache did not show a write in time, reading live")
		return c.liveDomain(ctx, k)
	case fresh:
	}
	namespace := c.inventory.Namespace(k.namespace)
	if namespace == nil || namespace.Domain(k.domain) == nil {
		c.forget(k)
		return nil, nil
	}
	return namespace.Domain(k.domain), nil
}

// liveDomain reads everything from the API server; nil if the domain is gone.
func (c *Controller) liveDomain(ctx context.Context, k key) (*trust.Domain, error) {
	sources, err := c.inventory.Live(ctx, k.namespace)
	if errors.Is(err, inventory.ErrUnmanaged) {
		c.forget(k)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s live: %w", k.namespace, err)
	}
	namespace := inventory.Build(sources)
	if namespace == nil {
		return nil, nil
	}
	return namespace.Domain(k.domain), nil
}
