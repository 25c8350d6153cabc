// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/fairqueue"
)

// errStale says that the source is not the one any more that the decision was about. It is looked at again.
var errStale = errors.New("the source has changed since the decision")

func (c *Controller) processNext(ctx context.Context) bool {
	k, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(k)
	if ctx.Err() != nil {
		return true
	}
	logger := klog.FromContext(ctx).WithValues("from", k.from, "kind", k.kind, "copy", klog.KRef(k.namespace, k.name))
	c.handle(klog.NewContext(ctx, logger), k, c.safely(klog.NewContext(ctx, logger), k))
	return true
}

// safely turns a panic into an error: one copy must not stop the others.
func (c *Controller) safely(ctx context.Context, k key) (err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Recovered from a panic", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while working on %s: %v", k, r)
		}
	}()
	if k.target == (target{}) {
		for _, one := range c.memory.replaceNamespace(k.from, c.inventory.Namespace(k.from)) {
			c.queue.Add(one)
		}
		return nil
	}
	return fairqueue.Within(ctx, fairqueue.Deadline, "work on "+k.String(), func(ctx context.Context) error { return c.reconcile(ctx, k) })
}

// handle decides when to look again.
func (c *Controller) handle(ctx context.Context, k key, err error) {
	logger := klog.FromContext(ctx)
	switch {
	case err == nil:
		c.queue.Forget(k)
	case ctx.Err() != nil:
		// We are asked to end; whoever leads next goes on.
	case benign(err), obstacleOf(err) != nil:
		logger.V(4).Info("Looking again", "reason", err.Error())
		c.queue.AddRateLimited(k)
	default:
		logger.Error(err, "Failed to copy, will retry")
		c.queue.AddRateLimited(k)
	}
}

// benign says whether an error only means that somebody else was faster.
func benign(err error) bool {
	return errors.Is(err, errStale) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// Reconcile looks once at every copy whose source is in a namespace, as the worker would. It is for whoever decides by
// itself what happens when, such as a bootstrap; everybody else calls Run.
func (c *Controller) Reconcile(ctx context.Context, namespace string) error {
	var errs []error
	for _, k := range c.memory.replaceNamespace(namespace, c.inventory.Namespace(namespace)) {
		errs = append(errs, c.safely(ctx, k))
	}
	return errors.Join(errs...)
}
