// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests of the small modules that TestScript runs.
const (
	passes = `package p; import "testing"; func TestPasses(*testing.T) {}`
	fails  = `package p; import "testing"; func TestFails(t *testing.T) { t.Error("as it should") }`
	skips  = `package p; import "testing"; func TestSkips(t *testing.T) { t.Skip("needs root") }`
	// A nice value of 19, which the system call of Linux tells as 20 less it.
	// Its session is as nice, where the kernel groups processes by session.
	runsNice = `package p; import ("os"; "strings"; "syscall"; "testing")
		func TestNice(t *testing.T) {
			if p, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err != nil || p != 1 && p != 19 { t.Error(p, err) }
			if group, err := os.ReadFile("/proc/self/autogroup"); err == nil && !strings.HasSuffix(string(group), " nice 19\n") { t.Errorf("%s", group) }
		}`
	// As the kernel does when memory is short, and people who end what they take for another one's go test.
	killsGoTest = `package p; import ("syscall"; "testing"); func TestKills(*testing.T) { syscall.Kill(syscall.Getppid(), syscall.SIGKILL) }`
	// The same, when all results are out.
	killsGoTestLate = `package p; import ("os"; "syscall"; "testing")
		func TestPasses(*testing.T) {}
		func TestMain(m *testing.M) { m.Run(); syscall.Kill(syscall.Getppid(), syscall.SIGKILL); os.Exit(0) }`
)

// TestScript runs hack/test.sh as it is, with the real go, on modules of a few tests.
func TestScript(t *testing.T) {
	for _, test := range []struct {
		name   string
		tests  map[string]string // by the directory of their package
		args   []string
		env    string
		times  int // How often it is run; the last time counts. Defaults to 1.
		wantOK bool
		want   []string // parts of the output
		last   string   // its last line; "" for any with failures
	}{
		{
			name: "all is well", tests: map[string]string{"a": passes, "test/cluster": passes},
			wantOK: true, want: []string{"ok        certrotation.dev/a (", "ok        certrotation.dev/test/cluster ("}, last: "2 passed, 0 failed, 0 skipped",
		},
		{
			name: "again, with nothing changed", tests: map[string]string{"a": passes}, times: 2,
			wantOK: true, want: []string{"ok        certrotation.dev/a (cached)", "1 of 2 packages did not run: their results are cached"}, last: "1 passed, 0 failed, 0 skipped",
		},
		{
			name: "flags reach go test", tests: map[string]string{"a": passes}, times: 2, args: []string{"-count=1", "-run=Passes"},
			wantOK: true, want: []string{"ok        certrotation.dev/a ("}, last: "1 passed, 0 failed, 0 skipped",
		},
		{
			name: "a failed test", tests: map[string]string{"a": passes, "b": fails},
			want: []string{"as it should", "failed tests:\n  b TestFails\n"}, last: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "a killed go test, after another one that passed", tests: map[string]string{"a": passes, "test/cluster": killsGoTest},
			want: []string{"ok        certrotation.dev/a (", "go test: signal: killed\n", "certrotation.dev/test/cluster did not report its end\n"},
		},
		{
			name: "a killed go test, before another one that passes", tests: map[string]string{"a": killsGoTest, "test/cluster": passes},
			want: []string{"ok        certrotation.dev/test/cluster (", "go test: signal: killed\n", "certrotation.dev/a did not report its end\n"},
		},
		{
			name: "a go test that is killed when all its tests have passed", tests: map[string]string{"a": killsGoTestLate},
			want: []string{"go test: signal: killed\n", "certrotation.dev/a did not report its end\n"},
		},
		{
			name: "beside the one that waits", tests: map[string]string{"a": passes, "test/e2e/etcd": passes, "test/cluster": passes},
			wantOK: true, want: []string{"ok        certrotation.dev/a (", "ok        certrotation.dev/test/e2e/etcd (", "ok        certrotation.dev/test/cluster ("},
			last: "3 passed, 0 failed, 0 skipped",
		},
		{
			name: "what gives way to the one that waits", tests: map[string]string{"a": runsNice, "test/e2e/etcd": passes},
			wantOK: true, last: "2 passed, 0 failed, 0 skipped",
		},
		{
			name: "a failed test beside the one that waits", tests: map[string]string{"a": fails, "test/e2e/etcd": passes},
			want: []string{"failed tests:\n  a TestFails\n"}, last: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "the one that waits fails", tests: map[string]string{"a": passes, "test/e2e/etcd": fails},
			want: []string{"failed tests:\n  test/e2e/etcd TestFails\n"}, last: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "a killed go test beside one with a failed test", tests: map[string]string{"a": killsGoTest, "test/e2e/etcd": fails},
			// Whether it was told before the kill that TestKills began is a matter of luck.
			want: []string{"  test/e2e/etcd TestFails\n", "go test: signal: killed\n", "certrotation.dev/a did not report its end\n"},
		},
		{
			name: "a package that does not compile", tests: map[string]string{"a": passes, "b": `package p; func {`},
			want: []string{"certrotation.dev/b does not compile"}, last: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "a package that is not there", tests: map[string]string{"a": passes}, args: []string{"./a", "./typo"},
			want: []string{"./typo does not compile"}, last: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "a skipped test on somebody's machine", tests: map[string]string{"a": passes, "b": skips},
			wantOK: true, want: []string{"skipped tests, and why:\n  b TestSkips: needs root\n"}, last: "1 passed, 0 failed, 1 skipped",
		},
		{
			name: "a skipped test on CI", tests: map[string]string{"a": passes, "b": skips}, env: "CI=true",
			want: []string{"  b TestSkips (skipped, which is a failure on CI): needs root\n"}, last: "1 passed, 1 failed, 0 skipped",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := writeModule(t, test.tests)
			var ok bool
			var out string
			for range max(1, test.times) {
				ok, out = runScript(t, dir, test.env, test.args)
			}
			if ok != test.wantOK {
				t.Errorf("it ended well: %t, want %t", ok, test.wantOK)
			}
			for _, part := range test.want {
				if !strings.Contains(out, part) {
					t.Errorf("no %q", part)
				}
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if last := lines[len(lines)-1]; test.last != "" && last != test.last || strings.Contains(last, " 0 failed") != test.wantOK {
				t.Errorf("the last line is %q, want %q", last, test.last)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// writeModule makes a module of the scripts, this program and the given tests.
func writeModule(t *testing.T, tests map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{"go.mod": "module " + strings.TrimSuffix(module, "/") + "\n\ngo 1.26\n"}
	for pkg, text := range tests {
		files[pkg+"/p_test.go"] = text
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	own = slices.DeleteFunc(own, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	for _, file := range append(own, "../test.sh", "../give-way.sh") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Join("hack/testsummary", file)] = string(text)
	}
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runScript(t *testing.T, dir, env string, args []string) (ok bool, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(dir, "hack/test.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "TEST_TIMEOUT=1m", "GOFLAGS=", "GOWORK=off", cmp.Or(env, "CI="))
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return err == nil, string(text)
}
