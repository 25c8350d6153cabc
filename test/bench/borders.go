// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	// reviewBatch is how many reviews of each round are measured. reviewWarmup is how many each writer makes
	// before.
	reviewBatch, reviewWarmup = 400, 5
	// bordersTimeout bounds one round of one build: its start and everything measured in it.
	bordersTimeout = 10 * time.Minute
)

// reviewWriters are the numbers of concurrent writers.
var reviewWriters = []int{1, 16}

// build is one of the compared builds, with its measurements.
type build struct {
	name    string
	install func(ctx context.Context, controllerFlags ...string) error

	reviews  map[int]*paced // By number of writers.
	issuance *paced
	requests []float64 // Of the controller for each leaf, by round.
}

// paced is a measurement of concurrent operations, with the duration of each round.
type paced struct {
	*measurement
	operations int // In one round.
	seconds    []float64
}

func (p *paced) add(r round, took time.Duration) {
	p.Rounds = append(p.Rounds, r)
	p.seconds = append(p.seconds, took.Seconds())
}

// rates are operations per second, by round.
func (p *paced) rates() []float64 {
	out := make([]float64, 0, len(p.seconds))
	for _, seconds := range p.seconds {
		out = append(out, float64(p.operations)/seconds)
	}
	return out
}

// spent is the CPU seconds of a process, by round.
func (p *paced) spent(process string) []float64 {
	var out []float64
	for _, r := range p.Rounds {
		if seconds, ok := r.CPU[process]; ok {
			out = append(out, seconds)
		}
	}
	return out
}

// borders measures the cost of the security borders in docs/security.md, compared with a former build. Each round
// starts both builds one after the other, in alternating order. Each has a control plane of its own with its own
// manifests.
func (b *bench) borders(ctx context.Context) error {
	builds, note, err := b.builds(ctx)
	if err != nil {
		return err
	}
	for r := range b.opts.rounds {
		order := slices.Clone(builds)
		if r%2 == 1 {
			slices.Reverse(order)
		}
		for _, at := range order {
			b.say("round %d of %d: %s", r+1, b.opts.rounds, at.name)
			if err := b.bordersOnce(ctx, at); err != nil {
				return fmt.Errorf("%s: %w", at.name, err)
			}
		}
	}
	for _, at := range builds {
		for _, writers := range reviewWriters {
			b.report.Measurements = append(b.report.Measurements, at.reviews[writers].measurement)
		}
		b.report.Measurements = append(b.report.Measurements, at.issuance.measurement)
		b.report.benchmarks.WriteString(at.benchmarks())
	}
	b.report.print(reviewTable(builds, note))
	b.report.print(issuanceTable(builds, note, b.opts.leaves))
	return nil
}

// builds returns the compared builds, and a note that describes them.
func (b *bench) builds(ctx context.Context) ([]*build, string, error) {
	present := b.newBuild("present", b.install)
	if b.opts.former == "" {
		return []*build{present}, "There is no former build (-former): this is the present one alone.", nil
	}
	f, err := openFormer(ctx, b.opts.former)
	if err != nil {
		return nil, "", err
	}
	before := b.newBuild("former", func(ctx context.Context, flags ...string) error { return b.installFormer(ctx, f, flags...) })
	return []*build{before, present}, fmt.Sprintf("The former build is of %s, in the same run: each round starts both, every second one in the opposite order.", f.revision), nil
}

func (b *bench) newBuild(name string, install func(context.Context, ...string) error) *build {
	out := &build{name: name, install: install, reviews: map[int]*paced{}}
	for _, writers := range reviewWriters {
		out.reviews[writers] = &paced{
			measurement: &measurement{Section: "borders", Name: fmt.Sprintf("%s: leaf replaced, %d writers", name, writers)},
			operations:  reviewBatch / writers * writers,
		}
	}
	out.issuance = &paced{
		measurement: &measurement{Section: "borders", Name: name + ": first issuance", Size: b.opts.leaves}, operations: b.opts.leaves,
	}
	return out
}

// bordersOnce measures one round of one build, in a new control plane.
func (b *bench) bordersOnce(ctx context.Context, at *build) (err error) {
	ctx, cancel := context.WithTimeout(ctx, bordersTimeout)
	defer cancel()
	if err := b.startCluster(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop(err != nil)) }()
	if err := at.install(ctx, unthrottled...); err != nil {
		return err
	}
	m, requests, err := b.bootstrapOnce(ctx, at.name, newDomain("bench-issued", pki.ECDSAP256, b.opts.leaves))
	if err != nil {
		return err
	}
	took := time.Duration(m.Rounds[0].Milliseconds[0] * float64(time.Millisecond))
	at.issuance.add(m.Rounds[0], took)
	at.requests = append(at.requests, requests/float64(b.opts.leaves))
	// The reviews measure serve alone.
	if err := b.in.Controller.Stop(ctx); err != nil {
		return err
	}
	return b.reviewRounds(ctx, at)
}

// reviewRounds measures the reviews of one round for each number of writers.
func (b *bench) reviewRounds(ctx context.Context, at *build) error {
	d := newDomain("bench-reviewed", pki.ECDSAP256, perNamespace-1)
	if err := b.fill(ctx, d); err != nil {
		return err
	}
	var subjects []*subject
	for _, leaf := range d.leaves[:slices.Max(reviewWriters)] {
		s, err := b.subjectOf(ctx, d, leaf)
		if err != nil {
			return err
		}
		subjects = append(subjects, s)
	}
	if err := b.guard(ctx, subjects[0]); err != nil {
		return err
	}
	for _, writers := range reviewWriters {
		if _, _, err := b.replaceAll(ctx, subjects[:writers], reviewWarmup); err != nil {
			return err
		}
		result, took, err := b.replaceAll(ctx, subjects[:writers], reviewBatch/writers)
		if err != nil {
			return err
		}
		at.reviews[writers].add(result, took)
	}
	return nil
}

// replaceAll replaces each leaf as many times as times says, with one writer per leaf.
func (b *bench) replaceAll(ctx context.Context, subjects []*subject, times int) (result round, took time.Duration, err error) {
	before, err := b.cpu()
	if err != nil {
		return result, 0, err
	}
	samples := make([][]float64, len(subjects))
	group, parallel := errgroup.WithContext(ctx)
	begun := time.Now()
	for i, s := range subjects {
		group.Go(func() error {
			for range times {
				sent := time.Now()
				if err := s.replace(parallel); err != nil {
					return err
				}
				samples[i] = append(samples[i], milliseconds(time.Since(sent)))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return result, 0, err
	}
	took = time.Since(begun)
	after, err := b.cpu()
	result.CPU, result.Milliseconds = spent(before, after), slices.Concat(samples...)
	return result, took, err
}

// benchmarks formats the rounds as go test -bench does, one line per round.
func (at *build) benchmarks() string {
	var out strings.Builder
	for _, writers := range reviewWriters {
		for _, r := range at.reviews[writers].Rounds {
			n := float64(len(r.Milliseconds))
			fmt.Fprintf(&out, "BenchmarkReview/build=%s/writers=%d %.0f %.0f ns/op %.0f p99-ns/op %.0f serve-CPU-ns/op\n", at.name, writers, n,
				median(r.Milliseconds)*1e6, quantile(r.Milliseconds, 0.99)*1e6, r.CPU[installation.Serve]/n*1e9)
		}
	}
	for i, r := range at.issuance.Rounds {
		n := float64(at.issuance.operations)
		fmt.Fprintf(&out, "BenchmarkIssuance/build=%s %.0f %.0f ns/op %.0f controller-CPU-ns/op %.0f serve-CPU-ns/op %.0f kube-apiserver-CPU-ns/op\n", at.name, n,
			at.issuance.seconds[i]/n*1e9, r.CPU[installation.Controller]/n*1e9, r.CPU[installation.Serve]/n*1e9, r.CPU[cluster.APIServer]/n*1e9)
	}
	return out.String()
}

func reviewTable(builds []*build, note string) *table {
	processes := []string{installation.Serve, cluster.APIServer}
	t := &table{
		Title: "What the borders cost: reviews of a leaf that is replaced, through kube-apiserver",
		Notes: []string{note, fmt.Sprintf(
			"Updates of Secrets in a guarded namespace of %d certificates, all allowed, each writer with a leaf of its own, without the controller, etcd with fsync. CPU of serve is also what it spends on projecting the write into the API.",
			perNamespace)},
		Columns: columns("build and writers", processes, "reviews/s (IQR)"),
	}
	for _, writers := range reviewWriters {
		for _, at := range builds {
			m := at.reviews[writers]
			row := m.row(processes...)
			row[0] = fmt.Sprintf("%s, %d", at.name, writers)
			t.Rows = append(t.Rows, append(row, withSpread(m.rates())))
		}
	}
	return t
}

func issuanceTable(builds []*build, note string, leaves int) *table {
	t := &table{
		Title: fmt.Sprintf("What the borders cost: the first issuance of %d leaves, from the configuration to all Ready", leaves),
		Notes: []string{note, "ECDSA-P256, a controller without a client limit. Leaves per second and CPU seconds are the median of the rounds (IQR)."},
		Columns: []string{
			"build", "rounds", "leaves/s (IQR)", "requests/leaf",
			"CPU-s: " + installation.Controller, "CPU-s: " + installation.Serve, "CPU-s: " + cluster.APIServer,
		},
	}
	for _, at := range builds {
		t.Rows = append(t.Rows, []string{
			at.name, fmt.Sprint(len(at.issuance.Rounds)), withSpread(at.issuance.rates()), number(median(at.requests)),
			withSpread(at.issuance.spent(installation.Controller)), withSpread(at.issuance.spent(installation.Serve)),
			withSpread(at.issuance.spent(cluster.APIServer)),
		})
	}
	return t
}
