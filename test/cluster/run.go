// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// pollInterval is the time between two checks of readiness, or of a process with another parent.
const pollInterval = 50 * time.Millisecond

// run is one start of a process: a child of this process, or an adopted process.
type run struct {
	pid      int
	identity string
	handle   *os.Process // On Linux a pidfd, which never refers to another process.
	logStart int64       // Where this start's output begins in the log, 0 if unknown.

	// done is closed at the end of a child, after exitCode and ended are set. It is nil for an adopted process.
	done     chan struct{}
	exitCode int
	ended    string

	// expected is set once the end of the process was requested.
	expected atomic.Bool
}

// spawn starts cmd and the goroutine that waits for its end.
func spawn(cmd *exec.Cmd) (*run, error) {
	r := &run{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Keep the thread: the kernel sends a child its death signal when the thread that made it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		waited := cmd.Wait()
		r.exitCode = cmd.ProcessState.ExitCode()
		r.ended = cmd.ProcessState.String()
		if exit := (*exec.ExitError)(nil); waited != nil && !errors.As(waited, &exit) {
			r.ended = waited.Error()
		}
		close(r.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	r.pid, r.handle = cmd.Process.Pid, cmd.Process
	// It fails if the child is already gone. Then no later start needs to recognize it.
	r.identity, _ = processIdentity(r.pid)
	return r, nil
}

// adopt takes over the process of rec. It opens the handle before it compares the identity: an open handle cannot
// come to refer to another process.
func adopt(rec record) (*run, error) {
	handle, err := os.FindProcess(rec.Pid)
	if err != nil {
		return nil, err
	}
	if !rec.alive() {
		return nil, os.ErrProcessDone
	}
	return &run{pid: rec.Pid, identity: rec.Identity, handle: handle, exitCode: -1, ended: "its exit status is not known, it was not our child"}, nil
}

func (r *run) alive() bool {
	if r.done == nil {
		return identityMatches(r.pid, r.identity)
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// wait returns nil once the process is gone.
func (r *run) wait(ctx context.Context) error {
	if r.done != nil {
		select {
		case <-r.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for r.alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (r *run) signal(sig syscall.Signal) error {
	if sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGKILL {
		r.expected.Store(true)
	}
	return r.handle.Signal(sig)
}

// stop sends SIGTERM, then SIGKILL after grace or when ctx ends.
func (r *run) stop(ctx context.Context, grace time.Duration) error {
	if err := r.signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if r.wait(ctx) == nil {
		return nil
	}
	return r.kill()
}

func (r *run) kill() error {
	if err := r.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// Not the caller's context, which may end soon: leaving a process behind is worse than a short wait.
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	return r.wait(ctx)
}
