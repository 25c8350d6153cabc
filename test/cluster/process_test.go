// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test binary be the parent process of TestChildrenDieWithTheirParent.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CLUSTER_TEST_PARENT_DIR"); dir != "" {
		beParent(dir)
	}
	os.Exit(m.Run())
}

// beParent starts a process, prints its id, and stays until it is killed.
func beParent(dir string) {
	p := NewProcess(ProcessConfig{Name: "child", Path: "sleep", Args: []string{"300"}, Dir: dir, Detach: os.Getenv("CLUSTER_TEST_DETACH") != ""})
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		panic(err)
	}
	p.cfg.Path = sleep
	if err := p.Start(); err != nil {
		panic(err)
	}
	fmt.Println(p.Pid())
	select {}
}

func shell(t *testing.T, dir, script string) *Process {
	t.Helper()
	p := NewProcess(ProcessConfig{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, StopTimeout: 300 * time.Millisecond, Hint: "try again"})
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func start(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// patient returns a context with a timeout that is long enough for a busy machine.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

func TestProcessEnds(t *testing.T) {
	for _, test := range []struct {
		name, script string
		wantCode     int
		wantErr      []string
	}{
		{"with exit code 0 unasked", "echo done", 0, []string{"script ended by itself", "exit status 0", "done", "try again"}},
		{"with a failure", "echo no luck >&2; exit 3", 3, []string{"exit status 3", "no luck", "script.log"}},
		{"silently", "exit 4", 4, []string{"(it printed nothing)"}},
		{"by a signal of its own", "kill -9 $$", -1, []string{"signal: killed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := shell(t, t.TempDir(), test.script)
			start(t, p)
			code, err := p.Wait(patient(t))
			if err != nil || code != test.wantCode {
				t.Errorf("Wait() = %d, %v; want %d", code, err, test.wantCode)
			}
			wantError(t, p.Err(), test.wantErr...)
		})
	}
}

func TestProcessSignalAndWait(t *testing.T) {
	p := shell(t, t.TempDir(), "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
	start(t, p)
	if err := p.WaitReady(patient(t), printed(p, "ready")); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(patient(t)); err != nil || code != 7 {
		t.Errorf("Wait() = %d, %v; want 7", code, err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("Err() after an asked-for end = %v", err)
	}
}

func printed(p *Process, text string) func(context.Context) error {
	return func(context.Context) error {
		if !strings.Contains(p.LogTail(), text) {
			return fmt.Errorf("it did not print %q", text)
		}
		return nil
	}
}

func TestProcessStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	p := shell(t, t.TempDir(), "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	start(t, p)
	if err := p.WaitReady(patient(t), printed(p, "ready")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // Stop is idempotent.
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p.Running() {
		t.Error("it still runs")
	}
	if _, err := os.Stat(p.PidFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pid file after Stop: %v; want none", err)
	}
}

func TestProcessWaitReadyErrors(t *testing.T) {
	t.Run("it ends", func(t *testing.T) {
		p := shell(t, t.TempDir(), "echo bad flag; exit 1")
		start(t, p)
		err := p.WaitReady(patient(t), func(context.Context) error { return errors.New("refused") })
		wantError(t, err, "script ended before it was ready (exit status 1)", "bad flag", p.LogFile(), "try again")
	})
	t.Run("it is never ready", func(t *testing.T) {
		p := shell(t, t.TempDir(), "echo thinking; exec sleep 300")
		start(t, p)
		ctx, giveUp := context.WithCancel(patient(t))
		defer giveUp()
		err := p.WaitReady(ctx, func(ctx context.Context) error {
			if printed(p, "thinking")(ctx) == nil {
				giveUp()
			}
			return errors.New("refused")
		})
		wantError(t, err, "script is not ready", "refused", "thinking")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v is not that of its context", err)
		}
	})
	t.Run("it ends during a check", func(t *testing.T) {
		p := shell(t, t.TempDir(), "exec sleep 300")
		start(t, p)
		var cut error
		err := p.WaitReady(patient(t), func(ctx context.Context) error {
			if err := p.newest().handle.Kill(); err != nil {
				return err
			}
			<-ctx.Done() // As if another program had taken its port, and accepted connections without an answer.
			cut = ctx.Err()
			return cut
		})
		wantError(t, err, "script ended before it was ready")
		if !errors.Is(cut, context.Canceled) {
			t.Errorf("the check ended with %v; want that the end of the process cancels it", cut)
		}
	})
}

func TestProcessRestart(t *testing.T) {
	dir := t.TempDir()
	p := shell(t, dir, "echo pid $$; exec sleep 300")
	start(t, p)
	first := p.Pid()
	wantError(t, p.Start(), "runs already")
	wantError(t, shell(t, dir, "sleep 300").Start(), "is in use by process")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	start(t, p)
	if p.Pid() == first || !p.Running() {
		t.Errorf("after the restart: pid %d (before %d), running %t", p.Pid(), first, p.Running())
	}
	want := fmt.Sprintf("pid %d", p.Pid())
	if err := p.WaitReady(patient(t), printed(p, want)); err != nil {
		t.Fatal(err)
	}
	if tail := p.LogTail(); tail != want {
		t.Errorf("LogTail() = %q; want the newest start's output only, %q", tail, want)
	}
}

func TestProcessMissingExecutable(t *testing.T) {
	err := NewProcess(ProcessConfig{Name: "nothing", Path: "/does/not/exist", Dir: t.TempDir()}).Start()
	wantError(t, err, "start nothing", "/does/not/exist", "make tools")
}

// TestChildrenDieWithTheirParent kills a parent with SIGKILL, which leaves it no chance to clean up.
func TestChildrenDieWithTheirParent(t *testing.T) {
	for _, test := range []struct {
		name, detach string
	}{{"attached", ""}, {"detached", "yes"}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			parent := exec.CommandContext(t.Context(), os.Args[0])
			parent.Env = append(os.Environ(), "CLUSTER_TEST_PARENT_DIR="+dir, "CLUSTER_TEST_DETACH="+test.detach)
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			if _, err := fmt.Fscan(bufio.NewReader(out), &pid); err != nil {
				t.Fatal(err)
			}
			rec, err := readRecord(dir, "child")
			if err != nil || rec.Pid != pid || !rec.alive() {
				t.Fatalf("record %+v, %v; want the running process %d", rec, err, pid)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // It was killed.
			if test.detach == "" {
				orphan := &run{pid: pid, identity: rec.Identity}
				if err := orphan.wait(patient(t)); err != nil {
					t.Errorf("the child outlived its parent: %v", err)
				}
				return
			}
			if !rec.alive() {
				t.Error("the detached child died with its parent")
			}
			if err := StopDir(t.Context(), dir, t.Output()); err != nil {
				t.Fatal(err)
			}
			if rec.alive() {
				t.Error("StopDir left the detached child running")
			}
		})
	}
}

// TestStopDirLeavesForeignProcessesAlone: the recorded process is gone, and another process has its id.
func TestStopDirLeavesForeignProcessesAlone(t *testing.T) {
	foreign := shell(t, t.TempDir(), "exec sleep 300")
	start(t, foreign)
	dir := t.TempDir()
	rec, err := readRecord(foreign.cfg.Dir, "script")
	if err != nil {
		t.Fatal(err)
	}
	rec.Name, rec.Identity = "kube-apiserver", rec.Identity+"0"
	if err := writeRecord(dir, rec); err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	if err := StopDir(t.Context(), dir, &progress); err != nil {
		t.Fatal(err)
	}
	if !foreign.Running() {
		t.Error("StopDir ended a process that is not ours")
	}
	if !strings.Contains(progress.String(), "was not running") {
		t.Errorf("progress = %q", progress.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.pid")); err != nil || len(left) > 0 {
		t.Errorf("stale pid files %q, %v; want none", left, err)
	}
}

func TestStopDirWithoutDirectory(t *testing.T) {
	if err := StopDir(t.Context(), filepath.Join(t.TempDir(), "none"), t.Output()); err != nil {
		t.Error(err)
	}
}

func TestStartOrAdopt(t *testing.T) {
	dir := t.TempDir()
	config := ProcessConfig{Name: "script", Path: "/bin/sh", Args: []string{"-c", "exec sleep 300"}, Dir: dir, Detach: true}
	t.Cleanup(func() {
		if err := StopDir(context.WithoutCancel(t.Context()), dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	first := NewProcess(config)
	start(t, first)

	same := NewProcess(config)
	if adopted, err := same.StartOrAdopt(t.Context()); err != nil || !adopted || same.Pid() != first.Pid() {
		t.Errorf("same arguments: adopted %t, %v, pid %d; want pid %d taken over", adopted, err, same.Pid(), first.Pid())
	}
	config.Args = []string{"-c", "exec sleep 301"}
	changed := NewProcess(config)
	if adopted, err := changed.StartOrAdopt(t.Context()); err != nil || adopted || changed.Pid() == first.Pid() || first.Running() {
		t.Errorf("other arguments: adopted %t, %v, pid %d (before %d), the old one runs: %t", adopted, err, changed.Pid(), first.Pid(), first.Running())
	}
	again := NewProcess(config)
	if adopted, err := again.StartOrAdopt(t.Context()); err != nil || !adopted {
		t.Fatalf("adopted %t, %v", adopted, err)
	}
	if err := again.Kill(); err != nil {
		t.Fatal(err)
	}
	if again.Running() || changed.Running() {
		t.Error("an adopted process survived Kill")
	}
}
