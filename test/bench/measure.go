// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// operation is one of the compared alternatives.
type operation struct {
	name string
	// batch is how often it runs in one round.
	batch int
	// run executes the operation once. A returned time other than 0 replaces the measured one, for an operation
	// with a preparation.
	run func(ctx context.Context) (time.Duration, error)
}

// timed adapts an operation that is measured as a whole.
func timed(run func(ctx context.Context) error) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) { return 0, run(ctx) }
}

// round is one batch of an operation.
type round struct {
	Milliseconds []float64 `json:"milliseconds"`
	// CPU seconds of each process during the batch.
	CPU map[string]float64 `json:"cpuSeconds"`
	// Wire counts the bytes that the client received: compressed, encrypted and with headers.
	Wire int64 `json:"wireBytes"`
}

type measurement struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Size    int     `json:"size,omitempty"`
	Rounds  []round `json:"rounds"`
}

// client is this process in the maps of CPU seconds.
const client = "client"

// compare runs the operations in interleaved rounds, after one uncounted run of each.
func (b *bench) compare(ctx context.Context, section string, size int, operations []operation) ([]*measurement, error) {
	out := make([]*measurement, len(operations))
	for i, op := range operations {
		out[i] = &measurement{Section: section, Name: op.name, Size: size}
		if _, err := op.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", op.name, err)
		}
	}
	for r := range b.opts.rounds {
		for k := range operations {
			i := k
			if r%2 == 1 {
				i = len(operations) - 1 - k
			}
			result, err := b.round(ctx, &operations[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", operations[i].name, err)
			}
			out[i].Rounds = append(out[i].Rounds, result)
		}
	}
	b.report.Measurements = append(b.report.Measurements, out...)
	return out, nil
}

func (b *bench) round(ctx context.Context, op *operation) (round, error) {
	before, err := b.cpu()
	if err != nil {
		return round{}, err
	}
	out := round{Wire: -b.wire.Load()}
	for range op.batch {
		begun := time.Now()
		took, err := op.run(ctx)
		if err != nil {
			return round{}, err
		}
		if took == 0 {
			took = time.Since(begun)
		}
		out.Milliseconds = append(out.Milliseconds, milliseconds(took))
	}
	out.Wire += b.wire.Load()
	after, err := b.cpu()
	if err != nil {
		return round{}, err
	}
	out.CPU = spent(before, after)
	return out, nil
}

// cpu returns the CPU seconds of each running process, and of this one.
func (b *bench) cpu() (map[string]float64, error) {
	pids := b.pids()
	pids[client] = os.Getpid()
	out := make(map[string]float64, len(pids))
	for name, pid := range pids {
		seconds, err := cpuSeconds(pid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = seconds
	}
	return out, nil
}

func spent(before, after map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(after))
	for name, seconds := range after {
		if _, ok := before[name]; ok {
			out[name] = seconds - before[name]
		}
	}
	return out
}

func (m *measurement) latencies() []float64 {
	var all []float64
	for _, r := range m.Rounds {
		all = append(all, r.Milliseconds...)
	}
	return all
}

// cpu is the CPU seconds of a process for 1,000 operations, by round.
func (m *measurement) cpu(process string) []float64 {
	var out []float64
	for _, r := range m.Rounds {
		if seconds, ok := r.CPU[process]; ok {
			out = append(out, seconds/float64(len(r.Milliseconds))*1000)
		}
	}
	return out
}

// wire is the median of the KiB that the client received for one operation.
func (m *measurement) wire() float64 {
	var out []float64
	for _, r := range m.Rounds {
		out = append(out, float64(r.Wire)/float64(len(r.Milliseconds))/1024)
	}
	return median(out)
}

// row is name, n, p50, p99 and the CPU seconds of the processes.
func (m *measurement) row(processes ...string) []string {
	ms := m.latencies()
	out := []string{m.Name, fmt.Sprint(len(ms)), withSpread(ms), number(quantile(ms, 0.99))}
	for _, process := range processes {
		out = append(out, withSpread(m.cpu(process)))
	}
	return out
}

// columns are the headers of row, followed by more.
func columns(first string, processes []string, more ...string) []string {
	out := []string{first, "n", "p50 ms (IQR)", "p99 ms"}
	for _, process := range processes {
		out = append(out, "CPU-s/1,000: "+process)
	}
	return slices.Concat(out, more)
}
