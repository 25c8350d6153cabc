// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

type task struct {
	order   *restart.Order
	reading *reading
	verdict restart.Verdict
}

// reconcile runs one pass over the due workloads of a namespace. It returns when the next pass must run although
// nothing has changed, 0 for never.
func (c *Controller) reconcile(ctx context.Context, namespace string) (time.Duration, error) {
	if !c.cfg.Inventory.Managed(namespace) {
		c.memory.keep(namespace, nil)
		return 0, nil
	}
	l := &look{Controller: c, namespace: namespace, readings: map[trust.Workload]*reading{}}
	tasks := l.tasks(ctx, c.cfg.Inventory.Namespace(namespace))
	var errs []error
	for _, t := range tasks {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err := l.perform(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("restart %s in namespace %s: %w", t.order.Object(), namespace, err))
		}
	}
	errs = append(errs, l.report(ctx, tasks))
	return next(tasks), errors.Join(errs...)
}

// tasks returns the due workloads. A complete workload may make the next one of its party due, so it repeats.
func (l *look) tasks(ctx context.Context, n *inventory.Namespace) []*task {
	if n == nil {
		return nil
	}
	now := l.clock.Now()
	known := map[trust.Workload]trust.Progress{}
	for {
		var tasks []*task
		news := false
		for _, order := range restart.Orders(n.Domains, func(d *trust.Domain) []trust.Restart { return l.cfg.Due(d, now, known) }) {
			order.Quorum = n.Quorums[inventory.NamedWorkload{Configuration: order.For[0].Configuration, Workload: order.Workload}]
			t := l.assess(ctx, order)
			tasks = append(tasks, t)
			if t.reading.failed() != nil {
				continue
			}
			before, seen := known[order.Workload]
			if after := restart.ProgressOf(t.reading.workload, t.verdict); !seen || after.Complete && !before.Complete {
				known[order.Workload], news = after, true
			}
		}
		if !news {
			takeTurns(tasks, known)
			return tasks
		}
	}
}

func takeTurns(tasks []*task, known map[trust.Workload]trust.Progress) {
	orders, verdicts := make([]*restart.Order, len(tasks)), map[trust.Workload]restart.Verdict{}
	for i, t := range tasks {
		orders[i], verdicts[t.order.Workload] = t.order, t.verdict
	}
	restart.TakeTurns(orders, known, verdicts)
	for _, t := range tasks {
		t.verdict = verdicts[t.order.Workload]
	}
}

// assess returns the verdict on a workload. It reads each workload once per pass.
func (l *look) assess(ctx context.Context, order *restart.Order) *task {
	if !l.cfg.Enabled {
		return &task{order: order, reading: &reading{}, verdict: restart.Disabled(order)}
	}
	r := l.readings[order.Workload]
	if r == nil {
		r = l.read(ctx, order.Workload)
		l.readings[order.Workload] = r
	}
	t := &task{order: order, reading: r}
	switch {
	case r.forbidden:
		t.verdict = restart.Unpermitted(order, l.cfg.SystemNamespace, r.err)
	case r.err != nil:
		t.verdict = restart.Unknown(r.err)
	default:
		t.verdict = restart.Assess(order, r.workload, r.pods, r.cluster)
		if t.verdict.State == restart.Ask {
			r.cluster = l.ask(ctx, order, r)
			t.verdict = restart.Assess(order, r.workload, r.pods, r.cluster)
		}
	}
	return t
}

// perform carries out the verdict. A refusal by the API server becomes the new verdict.
func (l *look) perform(ctx context.Context, t *task) error {
	if err := t.reading.failed(); err != nil {
		return err
	}
	var err error
	switch t.verdict.State {
	case restart.Write:
		err = l.write(ctx, t)
	case restart.Replace:
		err = l.replace(ctx, t)
	case restart.Evict:
		err = l.evict(ctx, t)
	case restart.Done, restart.Ask, restart.Wait, restart.Hold:
		return nil
	}
	var refused *apply.WriteError
	if errors.As(err, &refused) && !apply.Benign(err) {
		t.verdict = restart.Refused(err)
	}
	return err
}

// next returns the delay of the next pass, 0 for none.
func next(tasks []*task) time.Duration {
	var again time.Duration
	for _, t := range tasks {
		switch t.verdict.State {
		case restart.Done:
		case restart.Hold:
			if again == 0 {
				again = nextAppeal
			}
		case restart.Write, restart.Replace, restart.Evict, restart.Ask, restart.Wait:
			again = nextLook
		}
	}
	return again
}
