// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inNode is where the node sees this program.
const inNode = "/opt/node/bin/nodeinit"

// enter runs a command in the namespaces of the process pid and ends with its exit code.
func enter(pid int, command []string) error {
	// Namespaces belong to threads. This one starts the command, and ends only with this process: the command's death
	// signal is tied to it.
	runtime.LockOSThread()
	if err := joinNamespaces(pid); err != nil {
		return err
	}
	cmd := exec.Command(inNode, append([]string{"become"}, command...)...)
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", command[0], err)
	}
	go func() {
		for sig := range signals {
			// A command that is gone needs no signal.
			_ = cmd.Process.Signal(sig)
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		os.Exit(128 + int(status.Signal()))
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// joinNamespaces opens all namespaces before it joins the first: afterwards /proc is another one.
func joinNamespaces(pid int) error {
	var files []*os.File
	kinds := []struct {
		name string
		flag int
	}{{"uts", unix.CLONE_NEWUTS}, {"net", unix.CLONE_NEWNET}, {"pid", unix.CLONE_NEWPID}, {"mnt", unix.CLONE_NEWNS}}
	for _, kind := range kinds {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind.name))
		if err != nil {
			return fmt.Errorf("the node does not run: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	// A thread that shares its root directory with others cannot change it.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the shared root: %w", err)
	}
	for i, kind := range kinds {
		if err := unix.Setns(int(files[i].Fd()), kind.flag); err != nil {
			return fmt.Errorf("join the %s namespace of process %d: %w", kind.name, pid, err)
		}
	}
	return nil
}

// become replaces this process by the command, which dies with the process that started this one. The attribute of
// [syscall.SysProcAttr] cannot do this: it takes a parent outside the process namespace for a dead one.
func become(command []string) error {
	// The death signal belongs to the thread that asks for it, and stays with it.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask for the death signal: %w", err)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, unix.Exec(path, command, os.Environ()))
}
