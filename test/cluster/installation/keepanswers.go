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

// KeepAnswers writes, for who looks at a failed test, what kubectl says of a namespace into a directory: commands are its
// arguments by the name of the file. What kubectl cannot say is written too.
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
