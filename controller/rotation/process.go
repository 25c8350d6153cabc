// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/fairqueue"
)

// errStale says that a decision was made on something that is not there any more. It is looked at again.
var errStale = errors.New("the object has changed since the decision")

// processNext works on one key and says whether there may be more.
func (c *Controller) processNext(ctx context.Context) bool {
	k, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(k)
	if ctx.Err() != nil {
		return true
	}
	logger := klog.FromContext(ctx).WithValues("namespace", k.namespace, "trustDomain", k.domain)
	c.handle(klog.NewContext(ctx, logger), k, c.safely(klog.NewContext(ctx, logger), k))
	return true
}

// safely turns a panic into an error: it is a fault of ours that one domain brought to light, and no reason to stop all
// others.
func (c *Controller) safely(ctx context.Context, k key) (err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Recovered from a panic", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while working on %s: %v", k, r)
		}
	}()
	return fairqueue.Within(ctx, fairqueue.Deadline, "work on "+k.String(), func(ctx context.Context) error { return c.reconcile(ctx, k) })
}

func (c *Controller) reconcile(ctx context.Context, k key) error {
	switch {
	case k.status:
		return c.reconcileStatuses(ctx, k)
	case k.domain == "":
		return c.reconcileNamespace(ctx, k)
	}
	return c.reconcileDomain(ctx, k)
}

// handle decides when to look again.
func (c *Controller) handle(ctx context.Context, k key, err error) {
	logger := klog.FromContext(ctx)
	switch {
	case err == nil:
		c.queue.Forget(k)
	case ctx.Err() != nil:
		// We are asked to end; whoever leads next goes on.
	case benign(err):
		logger.V(4).Info("Looking again", "reason", err.Error())
		c.queue.AddRateLimited(k)
	default:
		logger.Error(err, "Failed, will retry")
		c.queue.AddRateLimited(k)
	}
}

// benign says whether an error only means that somebody else was faster, or that the namespace goes away.
func benign(err error) bool {
	for _, single := range flatten(err) {
		if !errors.Is(single, errStale) && !apierrors.IsConflict(single) && !apierrors.IsAlreadyExists(single) &&
			!apierrors.HasStatusCause(single, corev1.NamespaceTerminatingCause) {
			return false
		}
	}
	return true
}

// flatten lists what errors.Join has joined.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}
