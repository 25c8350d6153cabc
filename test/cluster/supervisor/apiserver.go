// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"certrotation.dev/test/cluster"
)

// apiServer keeps one kube-apiserver running. Only its goroutine, run, starts and stops the process.
type apiServer struct {
	Server
	begin    func(*trust) (*cluster.Process, error) // Starts a process.
	takeOut  func()                                 // Keeps new connections away.
	reset    func()                                 // Tells the balancer that the process is a new one, or gone.
	requests chan restartRequest

	mu      sync.Mutex
	process *cluster.Process // The newest one, nil before the first.
	loaded  loaded
	crashes int
}

// loaded is what a process started with.
type loaded struct {
	trust     *trust
	startedAt time.Time
	pid       int
	starts    int // The number of starts, this one included.
}

type restartRequest struct {
	trust *trust
	done  chan<- struct{} // Closed when a process with the trust was started.
}

// run keeps the process running until the context ends, and then stops it gracefully.
func (s *apiServer) run(ctx context.Context, first *trust) {
	logger := klog.FromContext(ctx).WithValues("server", s.Name)
	next, pause := restartRequest{trust: first}, newPause()
	for {
		ended, err := s.start(next.trust)
		if err != nil {
			logger.Error(err, "Cannot start an API server")
		}
		if next.done != nil {
			close(next.done)
		}
		next.done = nil
		select {
		case <-ctx.Done():
			s.stop(ctx)
			return
		case request := <-s.requests:
			s.stop(ctx)
			next, pause = request, newPause()
			continue
		case <-ended:
		}
		s.died()
		logger.Info("An API server is not running and is started again")
		if time.Since(s.state().startedAt) > stableAfter {
			pause = newPause()
		}
		select {
		case <-time.After(pause.Step()):
		case request := <-s.requests:
			next, pause = request, newPause()
		case <-ctx.Done():
			return
		}
	}
}

// stableAfter is the age from which a process that dies is restarted without a longer pause.
const stableAfter = time.Minute

func newPause() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 1000, Cap: 5 * time.Second}
}

// start starts a process with the trust. The channel is closed when the process ends, or at once if it cannot start.
func (s *apiServer) start(t *trust) (<-chan struct{}, error) {
	ended := make(chan struct{})
	startedAt := time.Now()
	process, err := s.begin(t)
	if err != nil {
		close(ended)
		return ended, err
	}
	s.mu.Lock()
	s.process = process
	s.loaded = loaded{trust: t, startedAt: startedAt, pid: process.Pid(), starts: s.loaded.starts + 1}
	s.mu.Unlock()
	// Only now: a process that the balancer reports as ready must not be paired with what the one before loaded.
	s.reset()
	go func() {
		defer close(ended)
		// It ends with the process, which stop guarantees. The exit code does not matter: no process may end by
		// itself.
		_, _ = process.Wait(context.Background())
	}()
	return ended, nil
}

// stop takes the server out of the balancer and then stops the process gracefully.
func (s *apiServer) stop(ctx context.Context) {
	s.takeOut()
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	if process == nil {
		return
	}
	// Without the context's end: a graceful stop matters most then. Stop has its own timeout.
	if err := process.Stop(context.WithoutCancel(ctx)); err != nil {
		klog.FromContext(ctx).Error(err, "An API server does not stop", "server", s.Name)
	}
}

func (s *apiServer) died() {
	s.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashes++
}

// restart replaces the process by one with the trust, and returns once that one was started.
func (s *apiServer) restart(ctx context.Context, t *trust) error {
	done := make(chan struct{})
	select {
	case s.requests <- restartRequest{trust: t, done: done}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill sends SIGKILL. run notices the end and starts the next process.
func (s *apiServer) kill() (pid int, err error) {
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	if process == nil || !process.Running() {
		return 0, fmt.Errorf("%s does not run", s.Name)
	}
	pid = process.Pid()
	if err := process.Signal(syscall.SIGKILL); err != nil {
		return 0, err
	}
	return pid, nil
}

func (s *apiServer) state() loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// beginProcess returns the function that starts a kube-apiserver of this configuration.
func (c *Config) beginProcess(server Server, st *store) func(*trust) (*cluster.Process, error) {
	return func(t *trust) (*cluster.Process, error) {
		flags, err := c.flags(server, st, t)
		if err != nil {
			return nil, err
		}
		process := cluster.NewProcess(cluster.ProcessConfig{
			Name: server.Name, Path: c.Program, Args: flags, Dir: c.Dir, StopTimeout: c.StopTimeout,
		})
		return process, process.Start()
	}
}
