// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// propagationWrites is how often a leaf is written for each number of watches.
const propagationWrites = 60

func (b *bench) propagationTable() *table {
	return &table{
		Title: "From the write of a Secret to the watch event",
		Notes: []string{"Milliseconds from before the update request until the last of the watches has the event (all namespaces, JSON, undecoded), one write at a time. Both kinds of watch see the same writes; the update itself answers after the first column."},
		Columns: []string{
			"certificates, watches of each kind", "writes", "update p50", "Secret p50", "Secret p99", "certificaterotation p50", "certificaterotation p99",
			"CPU-s/1,000 writes: " + installation.Serve, "CPU-s/1,000 writes: " + cluster.APIServer,
		},
	}
}

func (b *bench) propagation(ctx context.Context, size int, t *table) error {
	d := newDomain(fmt.Sprintf("bench-watch-%d", size), pki.ECDSAP256, perNamespace-1)
	if err := b.fill(ctx, d); err != nil {
		return err
	}
	s, err := b.subjectOf(ctx, d, d.leaves[0])
	if err != nil {
		return err
	}
	if err := b.waitForCertificates(ctx, size+perNamespace); err != nil {
		return err
	}
	for _, watches := range b.opts.watchers {
		row, err := b.propagate(ctx, s, size, watches)
		if err != nil {
			return fmt.Errorf("%d watches: %w", watches, err)
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
}

func (b *bench) propagate(ctx context.Context, s *subject, size, watches int) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	secrets, rotations := &audience{fail: cancel}, &audience{fail: cancel}
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel(nil)
	if err := b.seat(ctx, secrets, &readers, secretsPath, watches); err != nil {
		return nil, err
	}
	if err := b.seat(ctx, rotations, &readers, rotationsPath, watches); err != nil {
		return nil, err
	}
	before, err := b.cpu()
	if err != nil {
		return nil, err
	}
	var update, secret, rotation []float64
	for range propagationWrites {
		version := s.versions[1-s.next]
		serial, err := serialOf(version)
		if err != nil {
			return nil, err
		}
		secretSeen := secrets.expect(fmt.Sprint("write-", s.writes+1, ";"), watches)
		rotationSeen := rotations.expect(`"serialNumber":"`+serial+`"`, watches)
		begun := time.Now()
		if err := s.replace(ctx); err != nil {
			return nil, err
		}
		update = append(update, milliseconds(time.Since(begun)))
		for _, seen := range []struct {
			by *expectation
			to *[]float64
		}{{secretSeen, &secret}, {rotationSeen, &rotation}} {
			select {
			case <-seen.by.all:
				*seen.to = append(*seen.to, milliseconds(seen.by.last.Sub(begun)))
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Minute):
				return nil, fmt.Errorf("the event of a write did not reach %d watches within a minute", seen.by.missing.Load())
			}
		}
	}
	after, err := b.cpu()
	if err != nil {
		return nil, err
	}
	used := spent(before, after)
	b.report.Samples[fmt.Sprintf("propagation ms at %d with %d watches", size, watches)] = map[string]any{
		"update": update, "secret": secret, "rotation": rotation, "cpuSeconds": used,
	}
	return []string{
		fmt.Sprintf("%d, %d", size, watches), fmt.Sprint(propagationWrites), number(median(update)),
		withSpread(secret), number(quantile(secret, 0.99)), withSpread(rotation), number(quantile(rotation, 0.99)),
		number(used[installation.Serve] / propagationWrites * 1000), number(used[cluster.APIServer] / propagationWrites * 1000),
	}, nil
}

// seat opens watches and reads them until ctx ends.
func (b *bench) seat(ctx context.Context, a *audience, readers *sync.WaitGroup, path string, watches int) error {
	version, err := b.listVersion(ctx, path)
	if err != nil {
		return err
	}
	for range watches {
		s, err := b.watchStream(ctx, path, "", version)
		if err != nil {
			return err
		}
		readers.Go(func() {
			defer s.close()
			var heard *expectation
			for {
				line, err := s.next()
				if err != nil {
					a.fail(err)
					return
				}
				heard = a.hear(line, heard)
			}
		})
	}
	return nil
}

// listVersion returns the resource version from which a watch misses nothing.
func (b *bench) listVersion(ctx context.Context, path string) (string, error) {
	if path == secretsPath {
		list, err := b.kube.CoreV1().Secrets("").List(ctx, metav1.ListOptions{Limit: 1})
		return list.ResourceVersion, err
	}
	list, err := b.rotations.CertrotationV1alpha1().CertificateRotations("").List(ctx, metav1.ListOptions{Limit: 1})
	return list.ResourceVersion, err
}

// audience is the watches of one kind. Each reader calls hear, the writer calls expect.
type audience struct {
	fail    context.CancelCauseFunc
	current atomic.Pointer[expectation]
}

// expectation is one event that every watch must receive once.
type expectation struct {
	text    []byte
	missing atomic.Int64
	// all is closed when the last watch has the event, after last is set.
	all  chan struct{}
	last time.Time
}

func (a *audience) expect(text string, watches int) *expectation {
	e := &expectation{text: []byte(text), all: make(chan struct{})}
	e.missing.Store(int64(watches))
	a.current.Store(e)
	return e
}

// hear counts an event if it is the expected one, and returns the expectation that this watch has met last.
// Several events of a watch may match, for example a change of the leaf and then of a condition. Only the first
// one counts.
func (a *audience) hear(line []byte, last *expectation) *expectation {
	e := a.current.Load()
	if e == nil || e == last || !bytes.Contains(line, e.text) {
		return last
	}
	if e.missing.Add(-1) == 0 {
		e.last = time.Now()
		close(e.all)
	}
	return e
}

// serialOf returns the serial number of the certificate in a Secret, as the API shows it.
func serialOf(secret *corev1.Secret) (string, error) {
	certs, err := pki.ParseChain(secret.Data[inventory.ActiveCertKey])
	if err != nil {
		return "", err
	}
	return certs[0].SerialNumber, nil
}
