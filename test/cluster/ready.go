// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// checkTimeout bounds one readiness check, so that a server that accepts but never answers does not hold WaitReady for ever.
	checkTimeout = 30 * time.Second
	tailLines    = 20
	tailBytes    = 64 << 10
)

// WaitReady asks check until it returns nil. It fails when the process ends, or with ctx; the error holds the last answer
// of check and the end of the log.
func (p *Process) WaitReady(ctx context.Context, check func(context.Context) error) error {
	r := p.newest()
	if r == nil {
		return fmt.Errorf("wait for %s: it was never started", p.cfg.Name)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		// Asked before the check: something else may answer on the port of a process that is gone.
		if !r.alive() {
			return p.describe(fmt.Sprintf("ended before it was ready (%s)", r.ended), nil)
		}
		last := r.whileAlive(ctx, check)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return p.describe("is not ready", errors.Join(ctx.Err(), last))
		}
	}
}

// whileAlive asks check once, and no longer than the process lives: something else may hold the port on which it is asked.
func (r *run) whileAlive(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	go func() {
		if r.wait(ctx) == nil {
			cancel()
		}
	}()
	return check(ctx)
}

// Until asks check every interval, and gives it as long as timeout each time, until it returns nil. It fails with ctx, and
// then tells the last answer; one that was cut off by the end of ctx says nothing, if there is another.
func Until(ctx context.Context, interval, timeout time.Duration, check func(context.Context) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		err := check(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		}
	}
}

// Err is nil while the process runs and after somebody asked it to end. Otherwise it tells how it ended, with the end of
// its log.
func (p *Process) Err() error {
	r := p.newest()
	if r == nil || r.alive() || r.expected.Load() {
		return nil
	}
	return p.describe(fmt.Sprintf("ended by itself (pid %d, %s)", r.pid, r.ended), nil)
}

// describe makes the error about this process: what happened, why, its log's last lines, and what the reader can do.
func (p *Process) describe(what string, cause error) error {
	tail := p.LogTail()
	if tail == "" {
		tail = "(it printed nothing)"
	}
	text := fmt.Sprintf("log %s ends with:\n\t%s", p.LogFile(), strings.ReplaceAll(tail, "\n", "\n\t"))
	if p.cfg.Hint != "" {
		text += "\n" + p.cfg.Hint
	}
	if cause != nil {
		return fmt.Errorf("%s %s: %w\n%s", p.cfg.Name, what, cause, text)
	}
	return fmt.Errorf("%s %s\n%s", p.cfg.Name, what, text)
}

// LogTail is the last lines that the newest start printed.
func (p *Process) LogTail() string {
	lines := strings.Split(strings.TrimRight(string(p.output()), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// output is what the newest start printed, at most its last tailBytes. A log that cannot be read counts as empty: this
// only ever decorates another error.
func (p *Process) output() []byte {
	r := p.newest()
	if r == nil {
		return nil
	}
	log, err := os.Open(p.LogFile())
	if err != nil {
		return nil
	}
	defer log.Close()
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	from := max(r.logStart, end-tailBytes)
	text := make([]byte, max(0, end-from))
	n, err := log.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return text[:n]
}

// LostPort says whether the newest start ended because another process had taken its port.
func (p *Process) LostPort() bool {
	r := p.newest()
	return r != nil && !r.alive() && bytes.Contains(p.output(), []byte("address already in use"))
}
