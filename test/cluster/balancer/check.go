// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
)

// slowChecks is how many checks in a row may time out before the backend counts as unhealthy. A refusal or an error
// counts at once; a slow server is, on a busy machine, most likely just slow.
const slowChecks = 2

func (b *Balancer) check(ctx context.Context, backend *entry) {
	ticker := time.NewTicker(b.cfg.CheckEvery)
	defer ticker.Stop()
	slow := 0
	for {
		b.mu.Lock()
		epoch := backend.epoch
		b.mu.Unlock()
		attempt, cancel := context.WithTimeout(ctx, b.cfg.CheckTimeout)
		err := backend.Check(attempt)
		timedOut := errors.Is(attempt.Err(), context.DeadlineExceeded)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil && timedOut {
			slow++
		} else {
			slow = 0
		}
		if slow == 0 || slow >= slowChecks {
			b.record(ctx, backend, epoch, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// record stores the result of a check that began in epoch.
func (b *Balancer) record(ctx context.Context, backend *entry, epoch int, failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if backend.epoch != epoch {
		return
	}
	if healthy := failure == nil; healthy != backend.healthy {
		klog.FromContext(ctx).Info("Backend changed", "backend", backend.Name, "healthy", healthy, "failure", failure)
	}
	b.transition(backend, func(backend *entry) {
		backend.healthy, backend.failure = failure == nil, failure
		backend.proven = backend.proven || failure == nil
	})
}
