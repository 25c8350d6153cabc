// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// recheck is how often the situation is looked at without an event: for what only time changes.
const recheck = time.Second

// rollout carries what the API says over to the API servers, one step at a time.
type rollout struct {
	cfg     *Config
	store   *store
	servers []*apiServer
	ready   func(name string) bool
	live    *live
	// wake has a token when something else than live has changed; loaded is told after each change of what is loaded.
	wake   chan struct{}
	loaded func()

	mu      sync.Mutex
	held    bool
	asked   map[string]int // restarts that were asked for: the number of starts that each server had then
	trust   *trust         // what the API servers shall have; nil before the API was seen
	leaf    *leaf          // what is on the disk
	waits   string
	problem string

	unreadySince map[string]time.Time // of the goroutine of run
}

// run makes steps until the context ends.
func (r *rollout) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	ticker := time.NewTicker(recheck)
	defer ticker.Stop()
	for {
		again, err := r.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if problem := r.note(err); problem != "" {
			logger.Error(err, "What is loaded stays")
		}
		if again {
			continue
		}
		select {
		case <-r.live.changed:
		case <-r.wake:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// note keeps the newest problem and returns it if it is a new one.
func (r *rollout) note(err error) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.problem
	r.problem = ""
	if err != nil {
		r.problem = err.Error()
	}
	if r.problem == before {
		return ""
	}
	return r.problem
}

// step does the next thing, if there is one, and says whether there may be more. Bad trust does not keep a good leaf away.
func (r *rollout) step(ctx context.Context) (again bool, err error) {
	bundle, certPEM, keyPEM := r.live.get()
	next, leafErr := r.pendingLeaf(certPEM, keyPEM)
	bad := errors.Join(r.want(bundle), leafErr)
	do := decide(r.situation(next != nil))
	r.mu.Lock()
	r.waits = do.waits
	r.mu.Unlock()
	switch {
	case do.restart != "":
		err = r.restart(ctx, do.restart)
	case do.swapLeaf:
		err = r.swap(next)
	default:
		return false, bad
	}
	return err == nil, errors.Join(bad, err)
}
