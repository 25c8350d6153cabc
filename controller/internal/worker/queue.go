// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
)

// Config of a Queue.
type Config[K comparable] struct {
	// Name of the queue in metrics, and of the controller in logs.
	Name string
	// Work works on a key.
	Work func(context.Context, K) error
	// Namespace of a key. It may be nil if all keys share one.
	Namespace func(K) string
	// Describe returns keys and values for logs about a key.
	Describe func(K) []any
	// Benign accepts errors that are no fault, in addition to those of apply.Benign.
	Benign []func(error) bool
	// Workers is how many keys are worked on at a time, and Share how many of one namespace. Share defaults to
	// Share(Workers).
	Workers, Share int
	// FirstRetry and LastRetry bound the retry delay of a failed key.
	FirstRetry, LastRetry time.Duration
	Clock                 clock.WithTicker
}

// Queue holds keys and runs the workers that process them. Create one with New.
type Queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]

	cfg Config[K]
}

// New returns a Queue. Its workers start with Run.
func New[K comparable](cfg Config[K]) *Queue[K] {
	if cfg.Namespace == nil {
		cfg.Namespace = func(K) string { return "" }
	}
	fair := FairConfig[K]{Name: cfg.Name, Namespace: cfg.Namespace, Workers: cfg.Workers, Share: cfg.Share, Clock: cfg.Clock}
	return &Queue[K]{TypedRateLimitingInterface: NewRateLimited(fair, cfg.FirstRetry, cfg.LastRetry), cfg: cfg}
}

// Run works until ctx ends, and then finishes running work.
func (q *Queue[K]) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("controller", q.cfg.Name)
	logger.Info("Starting workers", "workers", q.cfg.Workers)
	var workers sync.WaitGroup
	for range q.cfg.Workers {
		workers.Go(func() {
			for {
				k, shutdown := q.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					q.requeue(ctx, k, q.Do(ctx, k))
				}
				q.Done(k)
			}
		})
	}
	<-ctx.Done()
	q.ShutDown()
	workers.Wait()
	logger.Info("Stopped workers")
}

// Do works on a key once, as a worker would. It is for tests that drive reconciliation themselves.
func (q *Queue[K]) Do(ctx context.Context, k K) (err error) {
	ctx = q.describe(ctx, k)
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Recovered from a panic", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while working on %v: %v", k, r)
		}
	}()
	return Within(ctx, Deadline, fmt.Sprintf("work on %v", k), func(ctx context.Context) error { return q.cfg.Work(ctx, k) })
}

// requeue retries a failed key.
func (q *Queue[K]) requeue(ctx context.Context, k K, err error) {
	logger := klog.FromContext(q.describe(ctx, k))
	switch {
	case err == nil:
		q.Forget(k)
	case ctx.Err() != nil:
		// The process is stopping; the next leader continues.
	case apply.Benign(err, q.cfg.Benign...):
		logger.V(4).Info("Looking again", "reason", err.Error())
		q.AddRateLimited(k)
	default:
		logger.Error(err, "Failed, will retry")
		q.AddRateLimited(k)
	}
}

func (q *Queue[K]) describe(ctx context.Context, k K) context.Context {
	logger := klog.FromContext(ctx).WithValues("controller", q.cfg.Name).WithValues(q.cfg.Describe(k)...)
	return klog.NewContext(ctx, logger)
}
