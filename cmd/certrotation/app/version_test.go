// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/component-base/version"
)

// TestVersion runs the command in a child process, because --version ends the process.
func TestVersion(t *testing.T) {
	if args := os.Getenv("CERTROTATION_TEST_VERSION"); args != "" {
		command := NewCommand()
		command.SetArgs(strings.Fields(args))
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	info := version.Get()
	for args, want := range map[string]string{
		"--version":     "Kubernetes " + info.GitVersion + "\n",
		"--version=raw": `GitVersion:"` + info.GitVersion + `"`,
		"version":       "certrotation " + info.GitVersion + " (commit ",
	} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVersion$")
		command.Env = append(os.Environ(), "CERTROTATION_TEST_VERSION="+args)
		out, err := command.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("certrotation %s printed %q, want %q; %v", args, out, want, err)
		}
	}
}
