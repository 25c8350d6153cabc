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

//go:embed Verify.java
var javaSource []byte

// java is a running program that answers line by line, as it takes long to start.
type java struct {
	questions io.Writer
	answers   *bufio.Scanner
}

// startJava starts it in the directory of the files. It ends with the context.
func startJava(ctx context.Context, dir string) (*java, error) {
	if err := os.WriteFile(filepath.Join(dir, "Verify.java"), javaSource, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:+UseSerialGC", "Verify.java")
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
		return nil, fmt.Errorf("start java: %w", err)
	}
	return &java{questions: in, answers: bufio.NewScanner(out)}, nil
}

func (j *java) accepts(_ context.Context, q *question) error {
	if _, err := fmt.Fprintln(j.questions, q.usage); err != nil {
		return err
	}
	if !j.answers.Scan() {
		return fmt.Errorf("it has ended: %w", j.answers.Err())
	}
	switch answer := j.answers.Text(); {
	case answer == "yes":
		return nil
	case strings.HasPrefix(answer, "no: "):
		return &refusal{answer}
	default:
		return fmt.Errorf("it answers %q", answer)
	}
}
