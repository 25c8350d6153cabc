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

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// checkTimeout bounds one readiness check, because a server may accept a connection and never answer.
	checkTimeout = 30 * time.Second
	tailLines    = 20
	tailBytes    = 64 << 10
)

// WaitReady calls check until it returns nil. It fails if the process or ctx ends. The error holds the last error of
// check and the end of the log.
func (p *Process) WaitReady(ctx context.Context, check func(context.Context) error) error {
	r := p.newest()
	if r == nil {
		return fmt.Errorf("wait for %s: it was never started", p.cfg.Name)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		// Before the check: another process may answer on the port of a process that is gone.
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

// whileAlive calls check once and cancels it when the process ends, because another process may hold the port by
// then.
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

// Until calls check every interval, each time with timeout, until it returns nil. When ctx ends, it fails with the
// last error of check. It prefers an error that the end of ctx did not cause.
func Until(ctx context.Context, interval, timeout time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := check(attempt)
		if last == nil || err == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	return errors.Join(err, last)
}

// Err returns nil while the process runs, and after its end was requested. Otherwise it says how the process ended,
// with the end of its log.
func (p *Process) Err() error {
	r := p.newest()
	if r == nil || r.alive() || r.expected.Load() {
		return nil
	}
	return p.describe(fmt.Sprintf("ended by itself (pid %d, %s)", r.pid, r.ended), nil)
}

// describe returns an error about this process: what happened, the cause, the last lines of its log, and what to do.
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

// LogTail returns the last lines that the newest start printed.
func (p *Process) LogTail() string {
	lines := strings.Split(strings.TrimRight(string(p.output()), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// Printed returns what the newest start printed, at most its last 64 KiB.
func (p *Process) Printed() string { return string(p.output()) }

// output returns what the newest start printed, at most its last tailBytes. A log that cannot be read counts as
// empty, because the output only adds to another error.
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

// LostPort reports whether the newest start ended because another process had taken its port.
func (p *Process) LostPort() bool {
	r := p.newest()
	return r != nil && !r.alive() && bytes.Contains(p.output(), []byte("address already in use"))
}
