// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// FairConfig of a queue.
type FairConfig[T comparable] struct {
	// Name of the queue in its metrics.
	Name string
	// Namespace of a key.
	Namespace func(T) string
	// Workers is the number of goroutines that call Get.
	Workers int
	// Share is how many of them one namespace may hold. Defaults to Share(Workers).
	Share int
	// Clock measures delays.
	Clock clock.WithTicker
}

// Share returns how many of the workers one namespace may hold: half of them. Half is enough for a namespace that is
// alone in its cluster, and leaves room for one that comes.
func Share(workers int) int { return max(1, workers/2) }

// NewFair returns a queue with delayed adds.
func NewFair[T comparable](cfg FairConfig[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Name: cfg.Name, Clock: cfg.Clock, Queue: inTurn(cfg),
	})
}

// NewRateLimited returns a queue whose keys are retried after delays that double from first to last.
func NewRateLimited[T comparable](cfg FairConfig[T], first, last time.Duration) workqueue.TypedRateLimitingInterface[T] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, last),
		workqueue.TypedRateLimitingQueueConfig[T]{Name: cfg.Name, Clock: cfg.Clock, DelayingQueue: NewFair(cfg)})
}

type fair[T comparable] struct {
	workqueue.TypedInterface[T]
	turns *turns[T]
}

func inTurn[T comparable](cfg FairConfig[T]) workqueue.TypedInterface[T] {
	t := newTurns(cfg.Namespace, cmp.Or(cfg.Share, Share(cfg.Workers)))
	return &fair[T]{
		TypedInterface: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: cfg.Name, Clock: cfg.Clock, Queue: t}),
		turns:          t,
	}
}

// Done releases the worker of the key's namespace first, because the queue may look for the next key at once.
func (f *fair[T]) Done(key T) {
	f.turns.release(key)
	f.TypedInterface.Done(key)
}
