// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/fairqueue"
	"certrotation.dev/registry/view/inventory"
)

// errStale says that something has changed since the decision. It is looked at again.
var errStale = errors.New("the object has changed since the decision")

// settle is how long after a write of ours the next look is taken: what it brings about takes a moment.
const settle = 20 * time.Millisecond

// processNext works on one namespace and says whether there may be more.
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
	ctx = klog.NewContext(ctx, logger)
	err := c.safely(ctx, namespace)
	switch {
	case err == nil:
		c.queue.Forget(namespace)
	case ctx.Err() != nil:
	case benign(err):
		logger.V(4).Info("Looking again", "reason", err.Error())
		c.queue.AddRateLimited(namespace)
	default:
		logger.Error(err, "Failed, will retry")
		c.queue.AddRateLimited(namespace)
	}
	return true
}

// safely turns a panic into an error: it is no reason to stop all other namespaces.
func (c *Controller) safely(ctx context.Context, namespace string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Recovered from a panic", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while working on namespace %s: %v", namespace, r)
		}
	}()
	var again time.Duration
	err = fairqueue.Within(ctx, fairqueue.Deadline, "work on namespace "+namespace, func(ctx context.Context) error {
		var err error
		again, err = c.Reconcile(ctx, namespace)
		return err
	})
	if again > 0 {
		c.queue.AddAfter(namespace, again)
	}
	return err
}

// Reconcile takes one look at each rollout of a namespace and does what is next. It returns after what time it has to be
// called again although nothing has changed, zero for never.
func (c *Controller) Reconcile(ctx context.Context, namespace string) (time.Duration, error) {
	known := c.inventory.Namespace(namespace)
	c.watches.keep(namespace, known != nil && len(known.Rollouts) > 0) //nolint:contextcheck // a watch outlives the look that begins it
	c.memory.keep(namespace, known)
	if known == nil {
		return 0, nil
	}
	var (
		next time.Duration
		errs []error
	)
	for _, r := range known.Rollouts {
		again, err := c.reconcileRollout(ctx, known, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("rollout %s/%s: %w", namespace, r.Config.Name, err))
		}
		if again > 0 && (next == 0 || again < next) {
			next = again
		}
	}
	return next, errors.Join(errs...)
}

func (c *Controller) reconcileRollout(ctx context.Context, namespace *inventory.Namespace, r *inventory.Rollout) (time.Duration, error) {
	l := &look{Controller: c, known: namespace, namespace: namespace.Name, rollout: r, name: r.Config.Name, now: c.clock.Now()}
	return l.take(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("rollout", l.name)))
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
