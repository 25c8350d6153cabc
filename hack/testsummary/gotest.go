// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// listPackages are the import paths of the packages that the patterns name, each once. One that is broken is among them (-e):
// go test says what is wrong with it, and runs the others.
func listPackages(ctx context.Context, patterns []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	packages := strings.Fields(string(out))
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// goTest calls add for each event of the tests of b. Its error says how go test ended, if it was not well.
func goTest(ctx context.Context, b batch, flags []string, add func(event)) error {
	args := slices.Concat([]string{"go", "test", "-json", "-p", strconv.Itoa(b.parallel)}, flags, b.packages)
	beside := b.nice > 0
	if beside {
		args = append([]string{"bash", "hack/give-way.sh", strconv.Itoa(b.nice)}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// Either way go test leads a group, so that its tests, to which it tells nothing, are interrupted with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: beside, Setpgid: !beside}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// What could not be read is lost, and go test, which nobody reads any more, ends.
	return errors.Join(readEvents(out, add), cmd.Wait())
}
