// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
)

// Reasons of events on workloads.
const (
	EventRestarted   = "WorkloadRestarted"
	EventPodReplaced = "WorkloadPodReplaced"
	EventRestartHeld = "WorkloadRestartHeld"
)

const (
	// patience is how long a workload must hold before that is reported: to apply a workload and its configuration
	// together takes a moment.
	patience = 10 * time.Second
	// rollingPatience is how long progress without an operator may take before it is reported.
	rollingPatience = 2 * time.Minute
)

// report reports what holds restarts up: once by an event, and by a record as long as it lasts.
func (l *look) report(ctx context.Context, tasks []*task) error {
	l.memory.keep(l.namespace, tasks)
	recorded := l.recorded()
	var errs []error
	for _, t := range tasks {
		said, tell := l.told(t, recorded[t.order.Object()])
		if said == nil {
			continue
		}
		if tell {
			l.emit(t, corev1.EventTypeWarning, EventRestartHeld, said.Answer)
		}
		if before := recorded[said.Object]; before == nil || !record.SameRefusal(before, said) {
			errs = append(errs, l.record(ctx, t.order.For[0].Domain, said))
		}
		delete(recorded, said.Object)
	}
	for _, object := range slices.Sorted(maps.Keys(recorded)) {
		errs = append(errs, l.withdraw(ctx, object))
	}
	return errors.Join(errs...)
}

// told returns what to report of a task, nil for nothing, and whether it is new and needs an event.
func (l *look) told(t *task, before *trust.RefusedWrite) (said *trust.RefusedWrite, tell bool) {
	now := l.clock.Now()
	l.memory.update(l.namespace, t.order.Workload, func(s *state) {
		if t.verdict.Reason != s.reason {
			*s = state{reason: t.verdict.Reason, since: now, told: s.told}
			if before != nil && restart.Repeats(before, t.verdict) {
				// Another process has reported it already.
				s.since, s.told = before.Since, before.Answer
			}
		}
		s.held = t.verdict.State == restart.Hold
		waits := patience
		switch t.verdict.State {
		case restart.Done, restart.Write, restart.Replace, restart.Evict, restart.Ask:
			s.told = ""
			return
		case restart.Wait:
			waits = rollingPatience
		case restart.Hold:
		}
		since := s.since
		if at := t.verdict.Since; !at.IsZero() && at.Before(since) {
			since = at
		}
		if in := s.since.Add(waits).Sub(now); in > 0 {
			l.queue.AddAfter(l.namespace, in)
			return
		}
		refusal := restart.Refusal(t.order, t.verdict, since)
		said, tell = &refusal, s.told != refusal.Answer && t.verdict.State == restart.Hold
		s.told = refusal.Answer
	})
	return said, tell
}

// recorded returns the restarts of the namespace that are recorded as held, by object.
func (l *look) recorded() map[string]*trust.RefusedWrite {
	out := map[string]*trust.RefusedWrite{}
	sources := l.cfg.Inventory.Sources(l.namespace)
	if sources == nil {
		return out
	}
	for _, r := range sources.Records {
		if r.Said != nil && r.Said.Refusal != nil && r.Said.Refusal.Verb == trust.VerbRestart {
			out[r.Said.Refusal.Object] = r.Said.Refusal
		}
	}
	return out
}

func (l *look) records() apply.Writer[*configv1alpha1.RotationRecord] {
	return apply.To(l.cfg.Own.RotationRecords(l.namespace), "rotationrecords", l.by)
}

// record writes what holds a restart up. If several domains wait for a workload, the record names the first; the
// others show the members that they wait for.
func (l *look) record(ctx context.Context, domain string, said *trust.RefusedWrite) error {
	made, err := record.OfRefusal(l.namespace, domain, said)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	_, _, err = l.records().Write(ctx, made.DeepCopy(), apply.Any, func(r *configv1alpha1.RotationRecord, _ bool) error {
		r.Spec, r.Labels = made.Spec, made.Labels
		return nil
	})
	if err != nil {
		return fmt.Errorf("record that %s is not restarted: %w", said.Object, err)
	}
	return nil
}

// withdraw deletes the record of a workload that is no longer held.
func (l *look) withdraw(ctx context.Context, object string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := apply.Gone(l.records().Delete(ctx, record.RefusalName(object), "", "")); err != nil {
		return fmt.Errorf("delete the record that %s is not restarted: %w", object, err)
	}
	return nil
}
