// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/fairqueue"
)

// errStale says that an object is not the one any more that the decision was about. It is looked at again.
var errStale = errors.New("the object has changed since the decision")

func (c *Controller) processNext(ctx context.Context) bool {
	namespace, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(namespace)
	if ctx.Err() != nil {
		return true
	}
	logger := klog.FromContext(ctx).WithValues("namespace", namespace)
	err := c.Reconcile(klog.NewContext(ctx, logger), namespace)
	switch {
	case err == nil:
		c.queue.Forget(namespace)
	case ctx.Err() != nil:
		// We are asked to end; whoever leads next goes on.
	case errors.Is(err, errStale), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		logger.V(4).Info("Looking again", "reason", err.Error())
		c.queue.AddRateLimited(namespace)
	default:
		logger.Error(err, "Failed to clean up, will retry")
		c.queue.AddRateLimited(namespace)
	}
	return true
}

// Reconcile looks once at a namespace, as the worker would. It is for whoever decides by itself what happens when;
// everybody else calls Run. A panic is an error: it must not stop the other namespaces.
func (c *Controller) Reconcile(ctx context.Context, namespace string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Recovered from a panic", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while cleaning up namespace %s: %v", namespace, r)
		}
	}()
	return fairqueue.Within(ctx, fairqueue.Deadline, "clean up namespace "+namespace, func(ctx context.Context) error { return c.reconcile(ctx, namespace) })
}
