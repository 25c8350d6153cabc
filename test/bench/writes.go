// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
)

// writes measures how fast kube-apiserver accepts Secrets from one writer and from many, which bounds every
// controller.
func (b *bench) writes(ctx context.Context) error {
	d := newDomain("bench-writes", pki.ECDSAP256, 0)
	if err := d.makeAuthority(); err != nil {
		return err
	}
	if err := b.createNamespace(ctx, d); err != nil {
		return err
	}
	processes := []string{cluster.APIServer, cluster.Etcd}
	background, err := b.background(ctx, processes)
	if err != nil {
		return err
	}
	t := &table{
		Title:   "Secret writes of kube-apiserver, etcd with fsync",
		Notes:   []string{"Creation of Secrets of the size of a leaf (ECDSA-P256) in an unguarded namespace: what any controller is bound by.", background},
		Columns: append([]string{"writers", "n", "writes/s (IQR)", "p50 ms", "p99 ms"}, "CPU-s/1,000: "+processes[0], "CPU-s/1,000: "+processes[1]),
	}
	for _, c := range []struct{ writers, n int }{{1, 150}, {16, 1000}} {
		m := &measurement{Section: "writes", Name: fmt.Sprintf("%d writers", c.writers)}
		var rates []float64
		for r := range b.opts.rounds {
			result, took, err := b.writeSecrets(ctx, d, c.writers, c.n, r)
			if err != nil {
				return err
			}
			m.Rounds = append(m.Rounds, result)
			rates = append(rates, float64(c.n)/took.Seconds())
		}
		b.report.Measurements = append(b.report.Measurements, m)
		ms := m.latencies()
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(c.writers), fmt.Sprint(len(ms)), withSpread(rates), number(median(ms)), number(quantile(ms, 0.99)),
			withSpread(m.cpu(processes[0])), withSpread(m.cpu(processes[1])),
		})
	}
	b.report.print(t)
	return nil
}

// background describes the CPU use of processes without requests, in an almost empty cluster.
func (b *bench) background(ctx context.Context, processes []string) (string, error) {
	shares := make([]string, 0, len(processes))
	for _, process := range processes {
		idle, err := idlePercent(ctx, b.cluster.Process(process).Pid(), 5*time.Second)
		if err != nil {
			return "", err
		}
		shares = append(shares, fmt.Sprintf("%s %s", process, number(idle)))
	}
	return "In the background, in % of one core: " + strings.Join(shares, ", ") + ". That is part of all CPU seconds.", nil
}

// writeSecrets creates n Secrets. It generates them before the clock starts.
func (b *bench) writeSecrets(ctx context.Context, d *domain, writers, n, round int) (result round, took time.Duration, err error) {
	secrets := make([]*corev1.Secret, n)
	for i := range secrets {
		if secrets[i], err = d.issue(fmt.Sprintf("write-%d-%d-%d", writers, round, i)); err != nil {
			return result, 0, err
		}
	}
	before, err := b.cpu()
	if err != nil {
		return result, 0, err
	}
	var mu sync.Mutex
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	begun := time.Now()
	for _, secret := range secrets {
		group.Go(func() error {
			sent := time.Now()
			if err := b.createSecret(parallel, secret); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			result.Milliseconds = append(result.Milliseconds, milliseconds(time.Since(sent)))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return result, 0, err
	}
	took = time.Since(begun)
	after, err := b.cpu()
	result.CPU = spent(before, after)
	return result, took, err
}
