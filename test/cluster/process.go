// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killTimeout bounds how long the kernel may take to end a process after SIGKILL.
const killTimeout = time.Minute

// ProcessConfig describes a program to run.
type ProcessConfig struct {
	// Name names the process in its pid file, its log and every error. It must be usable as a file name.
	Name string
	// Path is the executable, Args its arguments (without the program's name).
	Path string
	Args []string
	// Env is added to this process's own environment.
	Env []string
	// Dir is the directory that holds NAME.pid, processes/ and logs/. It is created when missing.
	Dir string
	// Detach makes the process outlive this one. Otherwise the kernel kills it when this one dies (Linux only).
	Detach bool
	// Namespaces are the kinds of kernel namespaces that the process gets new ones of: clone flags, such as
	// syscall.CLONE_NEWNET (Linux only, and only for root).
	Namespaces uintptr
	// StopTimeout is the time between SIGTERM and SIGKILL in Stop. Defaults to 20 s.
	StopTimeout time.Duration
	// Hint ends every error about this process: what the reader can do. Optional.
	Hint string
}

// Process is a program that can be started, watched, killed and started again, always with the same arguments, log and
// pid file.
type Process struct {
	cfg ProcessConfig

	mu  sync.Mutex
	run *run // the newest start, or nil
}

// NewProcess returns a Process that was not started yet.
func NewProcess(cfg ProcessConfig) *Process {
	if cfg.StopTimeout == 0 {
		cfg.StopTimeout = 20 * time.Second
	}
	return &Process{cfg: cfg}
}

// Name is the name that files and errors carry.
func (p *Process) Name() string { return p.cfg.Name }

// LogFile is the path of the output of every start of this process.
func (p *Process) LogFile() string { return filepath.Join(p.cfg.Dir, "logs", p.cfg.Name+".log") }

// PidFile is the path of the file that holds the process id and nothing else.
func (p *Process) PidFile() string { return filepath.Join(p.cfg.Dir, p.cfg.Name+".pid") }

// Pid is the process id of the newest start, 0 when there was none.
func (p *Process) Pid() int {
	if r := p.newest(); r != nil {
		return r.pid
	}
	return 0
}

// Running says whether the newest start still runs.
func (p *Process) Running() bool {
	r := p.newest()
	return r != nil && r.alive()
}

// Start starts the program and returns as soon as it exists; use WaitReady to wait until it serves. It is an error when
// it runs already, be it from this Process or, by the record in Dir, from another.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && p.run.alive() {
		return fmt.Errorf("start %s: it runs already (pid %d)", p.cfg.Name, p.run.pid)
	}
	if rec, err := readRecord(p.cfg.Dir, p.cfg.Name); err == nil && rec.alive() {
		return fmt.Errorf("start %s: %s is in use by process %d; stop that first", p.cfg.Name, p.cfg.Dir, rec.Pid)
	}
	return p.launch()
}

// StartOrAdopt makes sure that the program runs with the present executable and arguments. A process that an earlier
// command left running is taken over (adopted is true); when its executable or arguments differ, it is replaced.
func (p *Process) StartOrAdopt(ctx context.Context) (adopted bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && p.run.alive() {
		return true, nil
	}
	if rec, err := readRecord(p.cfg.Dir, p.cfg.Name); err == nil && rec.alive() {
		found, err := adopt(rec)
		if err == nil {
			if rec.Fingerprint == p.fingerprint() {
				p.run = found
				return true, nil
			}
			if err := found.stop(ctx, p.cfg.StopTimeout); err != nil {
				return false, fmt.Errorf("replace %s (pid %d): %w", p.cfg.Name, rec.Pid, err)
			}
		}
	}
	return false, p.launch()
}

// launch starts the program and records it. The caller holds p.mu and knows that it does not run.
func (p *Process) launch() error {
	if err := os.MkdirAll(filepath.Dir(p.LogFile()), 0o700); err != nil {
		return fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}
	defer log.Close() // The child has its own descriptor.
	fmt.Fprintf(log, "# %s starting %s %s\n", time.Now().UTC().Format(time.RFC3339), p.cfg.Path, strings.Join(p.cfg.Args, " "))
	end, err := log.Stat()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}

	cmd := exec.Command(p.cfg.Path, p.cfg.Args...) // A process ends by Stop or with its parent, never by a context.
	cmd.Env = append(os.Environ(), p.cfg.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes(p.cfg.Detach, p.cfg.Namespaces)
	r, err := spawn(cmd)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start %s: %w (the control plane's programs are built by `make tools`, ours by `make build`)", p.cfg.Name, err)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}
	r.logStart = end.Size()
	if err := writeRecord(p.cfg.Dir, record{
		Name: p.cfg.Name, Pid: r.pid, Identity: r.identity, Fingerprint: p.fingerprint(), Started: time.Now(),
	}); err != nil {
		return errors.Join(fmt.Errorf("record %s (pid %d): %w", p.cfg.Name, r.pid, err), r.kill())
	}
	p.run = r
	return nil
}

// Signal sends sig. After a signal that asks the process to end, its end is no failure in Err.
func (p *Process) Signal(sig syscall.Signal) error {
	r := p.newest()
	if r == nil {
		return fmt.Errorf("signal %s: it was never started", p.cfg.Name)
	}
	if err := r.signal(sig); err != nil {
		return fmt.Errorf("send %s to %s (pid %d): %w", sig, p.cfg.Name, r.pid, err)
	}
	return nil
}

// Stop asks the process to end, kills it after StopTimeout or when ctx ends, and returns once it is gone. A process that
// does not run is no error. To see how a program ends by itself, use Signal and Wait.
func (p *Process) Stop(ctx context.Context) error {
	r := p.newest()
	if r == nil {
		return nil
	}
	if err := r.stop(ctx, p.cfg.StopTimeout); err != nil {
		return fmt.Errorf("stop %s (pid %d): %w", p.cfg.Name, r.pid, err)
	}
	return removeRecord(p.cfg.Dir, p.cfg.Name)
}

// Kill is kill -9: it returns once the process is gone. A process that does not run is no error.
func (p *Process) Kill() error {
	r := p.newest()
	if r == nil {
		return nil
	}
	if err := r.kill(); err != nil {
		return fmt.Errorf("kill %s (pid %d): %w", p.cfg.Name, r.pid, err)
	}
	return removeRecord(p.cfg.Dir, p.cfg.Name)
}

// Wait waits for the end of the newest start and returns its exit code: -1 when a signal ended it, and for an adopted
// process, whose exit code only its parent learns.
func (p *Process) Wait(ctx context.Context) (int, error) {
	r := p.newest()
	if r == nil {
		return 0, fmt.Errorf("wait for %s: it was never started", p.cfg.Name)
	}
	if err := r.wait(ctx); err != nil {
		return 0, fmt.Errorf("wait for the end of %s (pid %d): %w", p.cfg.Name, r.pid, err)
	}
	return r.exitCode, nil
}

func (p *Process) newest() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}
