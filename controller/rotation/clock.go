// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// Skew says how far the clock of the controller is off.
type Skew interface {
	// Latest is what is known without asking anybody.
	Latest() time.Duration
	// Ask also asks whoever has a clock of its own.
	Ask(ctx context.Context) (time.Duration, error)
}

// heldRetry is when a domain is looked at again that a clock holds: no object changes when the clocks agree again.
const heldRetry = 30 * time.Second

// assessByClock assesses a domain with what is known of the clock. Others are asked about it only when there is something
// to do: if they disagree, nothing is.
func (c *Controller) assessByClock(ctx context.Context, k key, d *trust.Domain) (*trust.Domain, *trust.Assessment, error) {
	if c.skew == nil {
		return d, c.assess(d, c.clock.Now()), nil
	}
	d = withSkew(d, c.skew.Latest())
	a := c.assess(d, c.clock.Now())
	if len(a.Actions) > 0 {
		skew, err := c.skew.Ask(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("ask about the clock before %d actions on %s: %w", len(a.Actions), k, err)
		}
		if skew != d.ClockSkew {
			d = withSkew(d, skew)
			a = c.assess(d, c.clock.Now())
		}
	}
	if slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonClockSkewed }) {
		c.queue.AddAfter(k, heldRetry)
	}
	return d, a, nil
}

func withSkew(d *trust.Domain, skew time.Duration) *trust.Domain {
	out := *d
	out.ClockSkew = skew
	return &out
}
