// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
)

const (
	// maxBatch bounds the actions on one assessment, so that a domain of thousands of leaves is looked at anew now and then.
	maxBatch = 64
	// writeTimeout bounds the reads and the write of one action.
	writeTimeout = 20 * time.Second
)

// performAll does the actions of one assessment in turn. They are independent, so one that fails does not stop the rest.
// Those that cannot be undone come last, and are confirmed together first. What the API server has refused is left out
// until its back-off is over.
func (c *Controller) performAll(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	errs := []error{c.withdrawRefusals(ctx, k, d, actions)}
	now, later := partition(c.due(k, actions), func(action *trust.Action) bool { return !action.Irreversible })
	if len(now)+len(later) > maxBatch {
		c.queue.Add(k)
		now = now[:min(len(now), maxBatch)]
		later = later[:min(len(later), maxBatch-len(now))]
	}
	errs = append(errs, c.performEach(ctx, k, d, now))
	if len(later) > 0 && ctx.Err() == nil {
		live, confirmed, err := c.confirm(ctx, k, d, later)
		if err != nil {
			errs = append(errs, fmt.Errorf("confirm %d actions on %s, first %s on %s: %w", len(later), k, later[0].Kind, later[0].Object, err))
		}
		errs = append(errs, c.performEach(ctx, k, live, confirmed))
	}
	return errors.Join(errs...)
}

// due are the actions that may be tried. The domain is looked at again when more of them may be.
func (c *Controller) due(k key, actions []trust.Action) []trust.Action {
	var soonest time.Duration
	out := make([]trust.Action, 0, len(actions))
	for i := range actions {
		wait := c.refused.wait(k, &actions[i])
		if wait <= 0 {
			out = append(out, actions[i])
			continue
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	if soonest > 0 {
		c.queue.AddAfter(k, soonest)
	}
	return out
}

func partition(actions []trust.Action, is func(*trust.Action) bool) (yes, no []trust.Action) {
	for i := range actions {
		if is(&actions[i]) {
			yes = append(yes, actions[i])
		} else {
			no = append(no, actions[i])
		}
	}
	return yes, no
}

func (c *Controller) performEach(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	var errs []error
	for i := range actions {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		action := &actions[i]
		err := c.performOne(ctx, k, action, func(ctx context.Context) (string, error) { return c.write(ctx, d, action) })
		errs = append(errs, c.settle(ctx, k, d, action, err))
	}
	return errors.Join(errs...)
}

// performOne makes the write of an action, and has the next decision wait until the cache shows it.
func (c *Controller) performOne(ctx context.Context, k key, action *trust.Action, write func(context.Context) (string, error)) error {
	start := c.clock.Now()
	// What has begun is finished: a request to end must not cut a write in half, of which nobody would know the result.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	version, err := write(writing)
	c.metrics.observe(action.Kind, err, c.clock.Since(start))
	if err != nil {
		return fmt.Errorf("%s on %s %s/%s: %w", action.Kind, action.ObjectKind, k.namespace, action.Object, err)
	}
	c.expect(k, action, version)
	klog.FromContext(ctx).Info("Done", "action", action.Kind, "kind", action.ObjectKind,
		"object", klog.KRef(k.namespace, action.Object), "why", action.Reason)
	return nil
}

// expect has the next decision wait until the cache shows what an action has done.
func (c *Controller) expect(k key, action *trust.Action, version string) {
	o := object{kind: action.ObjectKind, namespace: k.namespace, name: action.Object}
	if action.Kind == trust.ClearRequest {
		c.expected.expectGone(k, o, types.UID(action.Request.ID))
		return
	}
	c.expected.expect(k, o, version)
}

// settle makes of the outcome of an action what is to be retried for as usual. A refusal is not: its action has a back-off
// of its own, and stands against nothing else.
func (c *Controller) settle(ctx context.Context, k key, d *trust.Domain, action *trust.Action, err error) error {
	if err == nil {
		return c.accepted(ctx, k, d, action)
	}
	if c.refuse(ctx, k, d, action, err) {
		return nil
	}
	return err
}
