// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// commands returns the command lines of all commands, the root among them, without "kubectl certrotation".
func commands(t *testing.T) []string {
	t.Helper()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	root := NewCommand(Config{Streams: streams})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var out []string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		out = append(out, strings.Join(path, " "))
		for _, sub := range cmd.Commands() {
			// The command help is unavailable by this measure.
			if sub.IsAvailableCommand() {
				walk(sub, append(slices.Clone(path), sub.Name()))
			}
		}
	}
	walk(root, nil)
	return out
}

// TestHelp has a golden for each command. Written anew by: go test ./cmd/kubectl-certrotation/app -run TestHelp -update
func TestHelp(t *testing.T) {
	t.Setenv("HOME", "/home/ada") // It is in the default of a flag.
	dir := filepath.Join("testdata", "help")
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, line := range commands(t) {
		name := strings.ReplaceAll("kubectl certrotation "+line, " ", "-")
		name = strings.TrimSuffix(name, "-") + ".txt"
		want = append(want, name)
		t.Run(name, func(t *testing.T) {
			text := newShell(t).ok(t, append(strings.Fields(line), "--help")...)
			if line != "" {
				// They are the same in all, and in the golden of the root.
				text, _, _ = strings.Cut(text, "\nGlobal Flags:")
			}
			golden(t, filepath.Join("help", name), text)
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(want, entry.Name()) {
			t.Errorf("%s is of no command", filepath.Join(dir, entry.Name()))
		}
	}
}

// TestCommandsAreTested requires of each command a golden of its output, or a test that has its name.
func TestCommandsAreTested(t *testing.T) {
	tests := testNames(t)
	for _, line := range commands(t) {
		name, _, _ := strings.Cut(line, " ")
		if name == "" {
			continue
		}
		goldens, err := filepath.Glob(filepath.Join("testdata", name+"*.*"))
		if err != nil {
			t.Fatal(err)
		}
		named := func(test string) bool {
			return strings.HasPrefix(strings.ToLower(test), "test"+strings.ReplaceAll(name, "-", ""))
		}
		if len(goldens) == 0 && !slices.ContainsFunc(tests, named) {
			t.Errorf("the command %s has neither testdata/%s*.txt nor a test of its name", name, name)
		}
	}
}

// testNames returns the tests of this package.
func testNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				out = append(out, f.Name.Name)
			}
		}
	}
	return out
}
