// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"sync"

	"certrotation.dev/registry/trust"
)

// Refresh looks, now, at every member of a domain that has a probe or is a static pod, and returns when what has changed
// is recorded, and every lease of which half is over renewed. That a member cannot be observed is recorded and no error.
func (c *Collector) Refresh(ctx context.Context, d *trust.Domain) error {
	var (
		probes  sync.WaitGroup
		mu      sync.Mutex
		errs    []error
		permits = make(chan struct{}, c.concurrency)
	)
	for _, s := range observed(d) {
		probes.Go(func() {
			permits <- struct{}{}
			defer func() { <-permits }()
			if _, err := c.observe(ctx, s, always); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	probes.Wait()
	return errors.Join(errs...)
}

func always([]trust.Observation) bool { return true }
