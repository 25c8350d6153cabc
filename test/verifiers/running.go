// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed testdata/Verify.java
var javaSource []byte

//go:embed testdata/verify.c
var boringSource []byte

// boringHeaders and boringLibraries are where Debian's android-libboringssl-dev has BoringSSL. No other program uses it.
const (
	boringHeaders   = "/usr/include/android"
	boringLibraries = "/usr/lib/*-linux-gnu/android"
)

// running is a program that answers line by line: a virtual machine takes long to start.
type running struct {
	questions io.Writer
	answers   *bufio.Scanner
}

func startJava(ctx context.Context, dir string) (*running, error) {
	if err := os.WriteFile(filepath.Join(dir, "Verify.java"), javaSource, 0o600); err != nil {
		return nil, err
	}
	return start(exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:+UseSerialGC", "Verify.java"), dir)
}

// startBoring compiles and starts a program with BoringSSL. It returns nil if that, or a compiler, is not installed.
func startBoring(ctx context.Context, dir string) (*running, error) {
	libraries, err := filepath.Glob(boringLibraries)
	if err != nil || len(libraries) == 0 || !found("gcc") {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "verify.c"), boringSource, 0o600); err != nil {
		return nil, err
	}
	compile := exec.CommandContext(ctx, "gcc", "-I"+boringHeaders, "-o", "verify", "verify.c",
		"-L"+libraries[0], "-Wl,-rpath,"+libraries[0], "-lcrypto")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile verify.c: %w: %s", err, out)
	}
	return start(exec.CommandContext(ctx, filepath.Join(dir, "verify")), dir)
}

// start starts a program in the directory of the files. It ends with its context.
func start(cmd *exec.Cmd, dir string) (*running, error) {
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return &running{questions: in, answers: bufio.NewScanner(out)}, nil
}

func (r *running) accepts(_ context.Context, q *question) error {
	if _, err := fmt.Fprintln(r.questions, q.usage); err != nil {
		return err
	}
	if !r.answers.Scan() {
		return fmt.Errorf("it has ended: %w", r.answers.Err())
	}
	switch answer := r.answers.Text(); {
	case answer == "yes":
		return nil
	case strings.HasPrefix(answer, "no: "):
		return &refusal{answer}
	default:
		return fmt.Errorf("it answers %q", answer)
	}
}
