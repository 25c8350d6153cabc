// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHelp compares --help with testdata/help.txt, which `go test -update` writes: adding, removing or changing a
// flag or its default affects users.
func TestHelp(t *testing.T) {
	t.Setenv(envPodNamespace, "")
	var out bytes.Buffer
	command := NewCommand()
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	// The libraries define these feature gates and their defaults.
	got := regexp.MustCompile(`(?m)^ +kube:[A-Za-z0-9]+=.*\n`).ReplaceAll(out.Bytes(), nil)
	golden := filepath.Join("testdata", "help.txt")
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("--help (-want +got):\n%s", diff)
	}
}
