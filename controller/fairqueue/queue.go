// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Config of a queue.
type Config[T comparable] struct {
	// Name of the queue in its metrics.
	Name string
	// Namespace that a key belongs to.
	Namespace func(T) string
	// Workers that call Get.
	Workers int
	// Clock of delays.
	Clock clock.WithTicker
}

// Share is how many of some workers one namespace may hold: half of them. A namespace that is alone in its cluster does with
// that, and is never in the way of one that comes.
func Share(workers int) int { return max(1, workers/2) }

// New returns a queue whose keys may be delayed.
func New[T comparable](cfg Config[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Name: cfg.Name, Clock: cfg.Clock, Queue: inTurn(cfg),
	})
}

// NewRateLimited returns a queue whose keys are retried after delays that double from first to last.
func NewRateLimited[T comparable](cfg Config[T], first, last time.Duration) workqueue.TypedRateLimitingInterface[T] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, last),
		workqueue.TypedRateLimitingQueueConfig[T]{Name: cfg.Name, Clock: cfg.Clock, DelayingQueue: New(cfg)})
}

// fair is a workqueue in the order of turns.
type fair[T comparable] struct {
	workqueue.TypedInterface[T]
	turns *turns[T]
}

func inTurn[T comparable](cfg Config[T]) workqueue.TypedInterface[T] {
	t := newTurns(cfg.Namespace, Share(cfg.Workers))
	return &fair[T]{
		TypedInterface: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: cfg.Name, Clock: cfg.Clock, Queue: t}),
		turns:          t,
	}
}

// Done gives the worker of the key's namespace back, before the queue may look for the next key.
func (f *fair[T]) Done(key T) {
	f.turns.release(key)
	f.TypedInterface.Done(key)
}
