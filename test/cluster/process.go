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
	// Name appears in the pid file, the log and every error. It must be usable as a file name.
	Name string
	// Path is the executable, Args are its arguments without the program's name.
	Path string
	Args []string
	// Env is added to this process's environment.
	Env []string
	// Dir is the directory of NAME.pid, processes/ and logs/. It is created if missing.
	Dir string
	// Detach makes the process outlive this one. Otherwise the kernel kills it when this one dies (Linux only).
	Detach bool
	// Namespaces are the clone flags of the kernel namespaces to create for the process, such as syscall.CLONE_NEWNET
	// (Linux only, and only for root).
	Namespaces uintptr
	// StopTimeout is the time between SIGTERM and SIGKILL in Stop. Defaults to 20 s.
	StopTimeout time.Duration
	// Hint ends every error about this process and tells the reader what to do. Optional.
	Hint string
}

// Process is a program that can be started, watched, killed and started again. Its arguments, log and pid file stay
// the same.
type Process struct {
	cfg ProcessConfig

	mu  sync.Mutex
	run *run // the newest start, or nil
}

// NewProcess returns a Process that is not started.
func NewProcess(cfg ProcessConfig) *Process {
	if cfg.StopTimeout == 0 {
		cfg.StopTimeout = 20 * time.Second
	}
	return &Process{cfg: cfg}
}

// Name returns the name used in files and errors.
func (p *Process) Name() string { return p.cfg.Name }

// LogFile returns the path of the log, which all starts share.
func (p *Process) LogFile() string { return filepath.Join(p.cfg.Dir, "logs", p.cfg.Name+".log") }

// PidFile returns the path of the file that holds only the process id.
func (p *Process) PidFile() string { return filepath.Join(p.cfg.Dir, p.cfg.Name+".pid") }

// Pid returns the process id of the newest start, 0 if there is none.
func (p *Process) Pid() int {
	if r := p.newest(); r != nil {
		return r.pid
	}
	return 0
}

// Running reports whether the newest start still runs.
func (p *Process) Running() bool {
	r := p.newest()
	return r != nil && r.alive()
}

// Start starts the program and returns as soon as the process exists; WaitReady waits until it serves. It fails if
// the program already runs, from this Process or, by the record in Dir, from another one.
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

// StartOrAdopt makes sure that the program runs with the present executable and arguments. It adopts a process that
// an earlier command left running (adopted is true). If the executable or the arguments differ, it replaces the
// process.
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

// launch starts the program and records it. The caller holds p.mu and has checked that the program does not run.
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

	cmd := exec.Command(p.cfg.Path, p.cfg.Args...) // Stop or the parent's death ends a process, never a context.
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

// Signal sends sig. If sig asks the process to end, Err does not report the end.
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

// Stop sends SIGTERM, and SIGKILL after StopTimeout or when ctx ends. It returns once the process is gone. It is no
// error if the process does not run. To see how a program ends by itself, use Signal and Wait.
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

// Kill sends SIGKILL and returns once the process is gone. It is no error if the process does not run.
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

// Wait waits for the end of the newest start and returns its exit code. The code is -1 if a signal ended the process.
// It is also -1 for an adopted process, because only its parent learns the code.
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
