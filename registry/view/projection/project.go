// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// pastDeadline is added to the time of a recheck: a certificate is still valid at the end of its validity.
const pastDeadline = time.Millisecond

// leastRecheck is the shortest delay until a recheck, because the leases of thousands of members end one after
// another.
const leastRecheck = time.Second

func (p *Projector) project(namespace string) error {
	arrived, changed := p.arrived.take(namespace)
	objects, recheck := p.render(namespace)
	if err := p.apply(namespace, objects); err != nil {
		if changed {
			p.arrived.putBack(namespace, arrived)
		}
		return fmt.Errorf("project namespace %q: %w", namespace, err)
	}
	p.pace.shown(namespace, p.served[namespace], p.cfg.Clock.Now())
	if changed {
		p.metrics.lag.Observe(p.cfg.Clock.Since(arrived).Seconds())
	}
	if !recheck.IsZero() {
		p.queue.AddAfter(namespace, max(recheck.Sub(p.cfg.Clock.Now())+pastDeadline, leastRecheck))
	}
	return nil
}

// render returns the objects of a namespace, and when time alone will change them, the zero time for never.
func (p *Projector) render(namespace string) (*Objects, time.Time) {
	known := p.cfg.Inventory.Namespace(namespace)
	if known == nil {
		p.metrics.forget(namespace)
		return newObjects(), time.Time{}
	}
	now := p.cfg.Clock.Now()
	in := Input{
		Namespace:   known,
		Assessments: make([]*trust.Assessment, 0, len(known.Domains)),
		Configured:  configured(known, p.cfg.Inventory.Sources(namespace)),
		Previous:    p.served[namespace],
		Now:         now,
	}
	var recheck time.Time
	for _, domain := range known.Domains {
		begun := p.cfg.Clock.Now()
		assessment := p.cfg.Assess(domain, now)
		p.metrics.assess.Observe(p.cfg.Clock.Since(begun).Seconds())
		in.Assessments = append(in.Assessments, assessment)
		if at := assessment.Recheck; !at.IsZero() && (recheck.IsZero() || at.Before(recheck)) {
			recheck = at
		}
	}
	p.metrics.observe(in)
	return Render(in), recheck
}

// configured returns when the oldest configuration of a namespace was created.
func configured(known *inventory.Namespace, sources *inventory.Sources) time.Time {
	var oldest time.Time
	if sources == nil {
		return oldest
	}
	for _, name := range known.Configurations {
		configuration := sources.Configurations[name]
		if configuration == nil {
			continue
		}
		if created := configuration.CreationTimestamp.Time; oldest.IsZero() || created.Before(oldest) {
			oldest = created
		}
	}
	return oldest
}
