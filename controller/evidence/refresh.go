// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"certrotation.dev/controller/internal/worker"
	"certrotation.dev/registry/trust"
)

// lookDeadline bounds one observation of all processes of a member, refreshDeadline one of all members of a domain.
// With the defaults, that is enough for 380 members that do not answer, and for thousands that do.
const (
	lookDeadline    = 2 * time.Minute
	refreshDeadline = 2 * time.Minute
)

// mostErrors bounds the errors that Refresh reports: a domain may have thousands of members.
const mostErrors = 5

// Refresh observes every member of a domain now. It returns once changes are recorded, and leases are renewed that
// are more than half over. A member that cannot be observed is recorded and is no error. Refresh fails if not every
// member could be observed in two minutes, and names some of the others.
func (c *Collector) Refresh(ctx context.Context, d *trust.Domain) error {
	return worker.Within(ctx, refreshDeadline, "refresh the evidence of "+d.Namespace+"/"+d.Name, func(ctx context.Context) error {
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
