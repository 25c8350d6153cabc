// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// settling is how long a program may work after its start before it counts as at rest.
const settling = 20 * time.Second

// pods measures the cost of thousands of pods as members of one relying party.
func (b *bench) pods(ctx context.Context) (err error) {
	a, err := newAudit(b.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.remove()) }()
	if err := b.startCluster(ctx, a.flags()...); err != nil {
		return err
	}
	if err := b.install(ctx); err != nil {
		return err
	}
	w, err := b.newWorkload("bench-pods")
	if err != nil {
		return err
	}
	if err := w.create(ctx); err != nil {
		return err
	}
	memories := &table{
		Title: "Pods as members: start and memory",
		Notes: []string{
			fmt.Sprintf("One namespace with one leaf, which each pod presents and verifies. Memory is the resident set: when the program is ready, %.0f s later, and its largest until then.", settling.Seconds()),
		},
		Columns: []string{"pods, program", "start s (IQR)", "CPU-s until ready (IQR)", "MiB ready", "MiB settled", "MiB peak", "% of one core at rest"},
	}
	defer func() { b.report.print(memories) }()
	if err := w.weigh(ctx, "none", memories); err != nil {
		return err
	}
	p := b.newPhases()
	defer func() { b.report.print(p.table) }()
	if err := w.populate(ctx, p); err != nil {
		return err
	}
	if err := w.weigh(ctx, fmt.Sprint(b.opts.pods), memories); err != nil {
		return err
	}
	if err := b.quiet(ctx, a); err != nil {
		return err
	}
	if err := w.rotate(ctx, p); err != nil {
		return err
	}
	return w.settled(ctx, fmt.Sprintf("%d after a rotation", b.opts.pods), nil, memories)
}

// weigh restarts both programs and adds their rows.
func (w *workload) weigh(ctx context.Context, pods string, t *table) error {
	b := w.b
	serveURL, err := b.serveReadyURL()
	if err != nil {
		return err
	}
	starts := map[string]started{}
	for program, url := range map[*cluster.Process]string{b.in.Controller: b.in.ControllerURL() + "/readyz", b.in.Serve: serveURL} {
		if starts[program.Name()], err = b.restarts(ctx, program, url); err != nil {
			return err
		}
	}
	if err := b.leading(ctx); err != nil {
		return err
	}
	if err := b.waitForCertificates(ctx, 2); err != nil {
		return err
	}
	return w.settled(ctx, pods, starts, t)
}

// settled gives both programs time to finish their work, and adds their rows.
func (w *workload) settled(ctx context.Context, pods string, starts map[string]started, t *table) error {
	if err := pause(ctx, settling); err != nil {
		return err
	}
	before, err := w.b.cpu()
	if err != nil {
		return err
	}
	if err := pause(ctx, settling); err != nil {
		return err
	}
	after, err := w.b.cpu()
	if err != nil {
		return err
	}
	idle := spent(before, after)
	for _, program := range []*cluster.Process{w.b.in.Controller, w.b.in.Serve} {
		m, err := memoryOf(program.Pid())
		if err != nil {
			return err
		}
		row := []string{pods + ", " + program.Name(), "", "", ""}
		if s, ok := starts[program.Name()]; ok {
			row = []string{row[0], withSpread(s.seconds), withSpread(s.cpu), number(s.memory.Now)}
		}
		w.b.report.Samples["memory of "+row[0]] = m
		t.Rows = append(t.Rows, append(row, number(m.Now), number(m.Peak), number(idle[program.Name()]/settling.Seconds()*100)))
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet counts the requests of the programs to kube-apiserver while the cluster is at rest.
func (b *bench) quiet(ctx context.Context, a *audit) error {
	b.say("%s of rest", b.opts.quiet)
	from := time.Now()
	if err := pause(ctx, b.opts.quiet); err != nil {
		return err
	}
	until := time.Now()
	counted, err := a.count(from, until)
	if err != nil {
		return err
	}
	t := &table{
		Title: fmt.Sprintf("Requests to kube-apiserver in the stage Stable with %d pods", b.opts.pods),
		Notes: []string{fmt.Sprintf(
			"By its audit log, in %s in which nobody did anything. The lease is renewed by the default of client-go, and watches end after 5 to 10 minutes whatever they are of: neither has to do with the members.", b.opts.quiet)},
		Columns: []string{"program, request", "requests", "a minute"},
	}
	for _, program := range []string{installation.Controller, installation.Serve} {
		members := 0
		for kind, n := range counted {
			if kind.program == program && kind.what != ofTheLease && kind.what != ofTheWatches {
				members += n
			}
		}
		t.Rows = append(t.Rows, []string{program + ", because of what is in the cluster", fmt.Sprint(members), number(float64(members) / until.Sub(from).Minutes())})
	}
	for _, kind := range slices.SortedFunc(maps.Keys(counted), compareKinds) {
		n := counted[kind]
		t.Rows = append(t.Rows, []string{kind.program + ", " + kind.what, fmt.Sprint(n), number(float64(n) / until.Sub(from).Minutes())})
	}
	b.report.print(t)
	return nil
}
