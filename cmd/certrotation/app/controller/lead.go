// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

// errLostLease ends the process, so that it restarts without state that the new leader has made obsolete.
var errLostLease = errors.New("another replica has taken the lease")

// Phases of a candidate.
const (
	idle int32 = iota
	working
	closed
)

// lead calls work as soon as this process leads. When ctx ends it releases the lease, but only after work has
// returned: the next leader must not begin during a write of this one.
func (c *Config) lead(ctx context.Context, watchdog *leaderelection.HealthzAdaptor, work func(context.Context)) error {
	if c.Lock == nil {
		work(ctx)
		return nil
	}
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	// The phase leaves idle once: either work begins, or the end of ctx or of the election prevents it for good.
	var phase atomic.Int32
	defer context.AfterFunc(ctx, func() {
		if phase.CompareAndSwap(idle, closed) {
			release()
		}
	})()
	done := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(c.electionConfig(leaderelection.LeaderCallbacks{
		OnStartedLeading: func(leading context.Context) {
			defer close(done)
			if !phase.CompareAndSwap(idle, working) {
				return
			}
			defer release()
			leading, stop := context.WithCancel(leading)
			defer stop()
			defer context.AfterFunc(ctx, stop)()
			work(leading)
		},
		OnStoppedLeading: func() { klog.FromContext(ctx).Info("Stopped leading") },
	}, watchdog))
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	elector.Run(electing)
	if !phase.CompareAndSwap(idle, closed) && phase.Load() == working {
		<-done
	}
	if ctx.Err() == nil {
		return errLostLease
	}
	return nil
}
