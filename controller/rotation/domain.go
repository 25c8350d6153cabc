// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// maxBatch bounds the actions on one assessment, so that a domain of thousands of leaves is looked at anew now and then.
const maxBatch = 64

// reconcileDomain brings one trust domain one step further, if anything is to be done.
func (c *Controller) reconcileDomain(ctx context.Context, k key) error {
	d, err := c.currentDomain(ctx, k)
	if d == nil || err != nil {
		return err
	}
	now := c.clock.Now()
	a := c.assess(d, now)
	c.report(k, d, a)
	if !a.Recheck.IsZero() {
		c.queue.AddAfter(k, a.Recheck.Sub(now))
	}
	return c.performAll(ctx, k, d, a.Actions)
}

// currentDomain returns the domain as it is after everything that this controller wrote, nil if the cache is behind or
// the domain is gone.
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
	if err != nil {
		return nil, fmt.Errorf("read namespace %s live: %w", k.namespace, err)
	}
	namespace := inventory.Build(sources)
	if namespace == nil {
		return nil, nil
	}
	return namespace.Domain(k.domain), nil
}

// performAll does the actions of one assessment in turn. They are independent, so one that fails does not stop the rest.
// If one of them cannot be undone, all are confirmed first.
func (c *Controller) performAll(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	if slices.ContainsFunc(actions, func(action trust.Action) bool { return action.Irreversible }) {
		live, confirmed, err := c.confirm(ctx, k, d, actions)
		if err != nil {
			return fmt.Errorf("confirm %d actions on %s, first %s on %s: %w", len(actions), k, actions[0].Kind, actions[0].Object, err)
		}
		d, actions = live, confirmed
	}
	var errs []error
	for i := range actions {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if i == maxBatch {
			c.queue.Add(k)
			break
		}
		if err := c.performOne(ctx, k, d, &actions[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) performOne(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	start := c.clock.Now()
	err := c.writeAndExpect(ctx, k, d, action)
	c.metrics.observe(action.Kind, err, c.clock.Since(start))
	if err != nil {
		return fmt.Errorf("%s on %s %s/%s: %w", action.Kind, action.ObjectKind, k.namespace, action.Object, err)
	}
	klog.FromContext(ctx).Info("Done", "action", action.Kind, "kind", action.ObjectKind,
		"object", klog.KRef(k.namespace, action.Object), "why", action.Reason)
	return nil
}

func (c *Controller) writeAndExpect(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	// What has begun is finished: a request to end must not cut a write in half, of which nobody would know the result.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	version, err := c.write(ctx, d, action)
	if err != nil {
		return err
	}
	c.expected.expect(k, object{kind: action.ObjectKind, namespace: k.namespace, name: action.Object}, version)
	return nil
}

// writeTimeout bounds the reads and the write of one action.
const writeTimeout = 20 * time.Second
