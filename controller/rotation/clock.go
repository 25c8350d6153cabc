// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"time"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// Skew measures how far the clock of the controller is off, by asking others that have a clock. What is known without
// asking is in each Domain.
type Skew interface {
	Ask(ctx context.Context) (time.Duration, error)
}

const (
	// heldRetry is the delay after which a domain held by a doubted clock is requeued: no object changes when the
	// clocks agree again.
	heldRetry = 30 * time.Second
	// clockDrift is how far a recorded skew may be from the present one before the record is rewritten.
	clockDrift = 2 * time.Minute
	// lookEvery is how often the controller records that it watches a domain.
	lookEvery = 12 * time.Hour
)

// assessByClock assesses a domain with the known clock skew. It asks others about the clock only if there is
// something to do. If they disagree, nothing is done.
func (c *Controller) assessByClock(ctx context.Context, k key, d *trust.Domain) (*trust.Domain, *trust.Assessment, error) {
	a := c.assess(d, c.clock.Now())
	if len(a.Actions) > 0 && c.skew != nil {
		skew, err := c.skew.Ask(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("ask about the clock before %d actions on %s: %w", len(a.Actions), k, err)
		}
		if skew != d.ClockSkew {
			asked := *d
			asked.ClockSkew = skew
			d, a = &asked, c.assess(&asked, c.clock.Now())
		}
	}
	if a.ClockDoubted() {
		c.queue.AddAfter(k, heldRetry)
	}
	return d, a, nil
}

// recordClock records for other processes that the clock of this controller holds a domain, and until when a
// controller has watched the time pass there.
func (c *Controller) recordClock(ctx context.Context, k key, d *trust.Domain, a *trust.Assessment) error {
	sources := c.inventory.Sources(k.namespace)
	if sources == nil {
		return nil
	}
	c.queue.AddAfter(k, lookEvery)
	var skew time.Duration
	if a.ClockDoubted() {
		skew = d.ClockSkew
	}
	looked := a.Looked(d, c.clock.Now())
	if known := sources.Records[record.ClockName(d.Name)]; known != nil && known.Said != nil {
		said := known.Said
		same := (skew == 0) == (said.ClockSkew == 0) && (said.ClockSkew-skew).Abs() < clockDrift
		if early := looked.Sub(said.LookedAt); same && early < lookEvery && early > -clockDrift {
			return nil
		}
	}
	made, err := record.OfClock(d.Namespace, d.Name, skew, looked)
	if err != nil {
		return fmt.Errorf("make the record of the clock: %w", err)
	}
	return c.writeRecord(ctx, k, made)
}
