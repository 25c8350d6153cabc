// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"certrotation.dev/controller/fairqueue"
	"certrotation.dev/registry/trust"
)

// lookDeadline bounds one look at all processes of one member, and refreshDeadline one at all members of a domain: with the
// defaults there is time for 380 members that do not answer at all, and for thousands that do.
const (
	lookDeadline    = 2 * time.Minute
	refreshDeadline = 2 * time.Minute
)

// mostErrors of a Refresh are told; a domain may have thousands of members.
const mostErrors = 5

// Refresh looks, now, at every member of a domain that has a probe or is a static pod, and returns when what has changed
// is recorded, and every lease of which half is over renewed. That a member cannot be observed is recorded and no error. It
// fails when not every member could be looked at in two minutes, and names one that was not.
func (c *Collector) Refresh(ctx context.Context, d *trust.Domain) error {
	return fairqueue.Within(ctx, refreshDeadline, "refresh the evidence of "+d.Namespace+"/"+d.Name, func(ctx context.Context) error {
		return c.refresh(ctx, observed(d))
	})
}

func (c *Collector) refresh(ctx context.Context, subjects []*subject) error {
	var (
		probes  sync.WaitGroup
		failed  = &failures{of: len(subjects)}
		permits = make(chan struct{}, c.concurrency)
	)
	for _, s := range subjects {
		probes.Go(func() {
			select {
			case permits <- struct{}{}:
			case <-ctx.Done():
				failed.add(s, ctx.Err())
				return
			}
			defer func() { <-permits }()
			if _, err := c.observe(ctx, s, always); err != nil {
				failed.add(s, err)
			}
		})
	}
	probes.Wait()
	return failed.error()
}

func always([]trust.Observation) bool { return true }

// failures are members whose observation was not made or not recorded.
type failures struct {
	of int

	mu    sync.Mutex
	first []error
	count int
}

func (f *failures) add(s *subject, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= mostErrors {
		f.first = append(f.first, fmt.Errorf("%s: %w", trust.MemberName(s.target.party, s.target.member), err))
	}
}

func (f *failures) error() error {
	if f.count == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d members could not be looked at, or what was seen not recorded: %w", f.count, f.of, errors.Join(f.first...))
}
