// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// KeepAnswers writes the answers of kubectl about a namespace into a directory, to analyze a failed test. commands
// are kubectl's arguments by file name. It also writes kubectl's errors.
func (in *Installation) KeepAnswers(t testing.TB, dir, namespace string, commands map[string][]string) {
	t.Helper()
	for name, args := range commands {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		out, err := in.Kubectl(ctx, append([]string{"-n", namespace}, args...)...)
		cancel()
		if err != nil {
			out += err.Error()
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(out), 0o600); err != nil {
			t.Logf("keep %s: %v", name, err)
		}
	}
}
