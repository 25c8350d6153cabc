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

// recheck is how often the situation is read without an event, for changes that only time makes.
const recheck = time.Second

// rollout brings the content of the API objects to the API servers, one step at a time.
type rollout struct {
	cfg     *Config
	store   *store
	servers []*apiServer
	ready   func(name string) bool
	live    *live
	// wake has a token when anything but live has changed. loaded is called after each change of what is loaded.
	wake   chan struct{}
	loaded func()

	mu      sync.Mutex
	held    bool
	asked   map[string]int // Requested restarts: the number of starts that each server had at the request.
	trust   *trust         // The trust that the API servers must load; nil before the API was seen.
	leaf    *leaf          // The leaf on the disk.
	waits   string
	problem string

	unreadySince map[string]time.Time // Owned by the goroutine of run.
}

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

// note records the newest problem. It returns the problem if it is new.
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

// step takes the next step, if there is one, and reports whether there may be more. Bad trust does not block a good
// leaf.
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
