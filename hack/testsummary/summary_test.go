// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// ev is one event as go test prints it.
func ev(action, pkg, test, output string) string {
	return fmt.Sprintf("{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", action, module+pkg, test, output)
}

// exitOf is the error of a process that ends as the script says.
func exitOf(t *testing.T, script string) error {
	t.Helper()
	err := exec.CommandContext(t.Context(), "sh", "-c", script).Run()
	if err == nil {
		t.Fatalf("%q ended well", script)
	}
	return err
}

func TestSummarize(t *testing.T) {
	for _, test := range []struct {
		name     string
		expected []string // packages
		ci       bool
		in       []string
		exit     error // of go test
		wantOK   bool
		want     []string // parts of the text
		wantNo   []string
	}{
		{
			name: "each kind passes, parents are not counted",
			in: []string{
				ev("run", "registry/pki", "TestParse", ""), ev("run", "registry/pki", "TestParse/a", ""), ev("run", "registry/pki", "TestParse/b", ""),
				ev("output", "registry/pki", "TestParse/a", "chatter\n"),
				ev("pass", "registry/pki", "TestParse/a", ""), ev("pass", "registry/pki", "TestParse/b", ""), ev("pass", "registry/pki", "TestParse", ""),
				ev("run", "registry/pki", "TestPairProperty", ""), ev("pass", "registry/pki", "TestPairProperty", ""),
				ev("pass", "registry/pki", "", ""),
				ev("run", "test/simulation", "TestWorld", ""), ev("pass", "test/simulation", "TestWorld", ""),
				ev("run", "test/cluster", "TestStart", ""), ev("pass", "test/cluster", "TestStart", ""),
				ev("pass", "test/simulation", "", ""), ev("pass", "test/cluster", "", ""),
			},
			expected: []string{module + "registry/pki", module + "test/simulation", module + "test/cluster"},
			wantOK:   true,
			want: []string{
				"ok        certrotation.dev/registry/pki", "unit         2       0       0", "property     2       0       0",
				"integration  1       0       0", "\n5 passed, 0 failed, 0 skipped\n",
			},
			wantNo: []string{"chatter", "failed tests", "failed outside", "skipped tests", "cached", "NO END"},
		},
		{
			name: "a failure shows its output in full, and go test's exit code is that",
			in: []string{
				ev("run", "a", "TestX", ""), ev("run", "a", "TestX/one", ""),
				ev("output", "a", "TestX/one", "    x_test.go:3: want 1\n"), ev("fail", "a", "TestX/one", ""), ev("fail", "a", "TestX", ""),
				ev("fail", "a", "", ""),
			},
			exit:   exitOf(t, "exit 1"),
			want:   []string{"x_test.go:3: want 1", "FAIL      certrotation.dev/a", "failed tests:\n  a TestX/one\n", "\n0 passed, 1 failed, 0 skipped\n"},
			wantNo: []string{"failed outside"},
		},
		{
			name: "a parent that fails after its subtests passed counts",
			in: []string{
				ev("run", "a", "TestX", ""), ev("run", "a", "TestX/one", ""), ev("pass", "a", "TestX/one", ""), ev("fail", "a", "TestX", ""),
			},
			want: []string{"a TestX\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name: "a skipped test with its reason",
			in: []string{
				ev("run", "a", "TestX", ""), ev("output", "a", "TestX", "=== RUN   TestX\n"), ev("output", "a", "TestX", "    x_test.go:9: needs root: uid 1000\n"),
				ev("output", "a", "TestX", "--- SKIP: TestX (0.00s)\n"), ev("skip", "a", "TestX", ""),
				ev("run", "a", "TestY", ""), ev("pass", "a", "TestY", ""),
			},
			wantOK: true,
			want:   []string{"skipped tests, and why:\n  a TestX: needs root: uid 1000\n", "\n1 passed, 0 failed, 1 skipped\n"},
		},
		{
			name: "a skipped test on CI", ci: true,
			in: []string{
				ev("run", "a", "TestX", ""), ev("output", "a", "TestX", "    x_test.go:9: needs root: uid 1000\n"), ev("skip", "a", "TestX", ""),
				ev("run", "a", "TestY", ""), ev("pass", "a", "TestY", ""), ev("pass", "a", "", ""),
			},
			want:   []string{"failed tests:\n  a TestX (skipped, which is a failure on CI): needs root: uid 1000\n", "\n1 passed, 1 failed, 0 skipped\n"},
			wantNo: []string{"skipped tests, and why"},
		},
		{
			name: "a parent that skips the rest after its subtests passed", ci: true,
			in: []string{
				ev("run", "a", "TestX", ""), ev("run", "a", "TestX/one", ""), ev("pass", "a", "TestX/one", ""),
				ev("output", "a", "TestX", "    x_test.go:9: no bridges\n"), ev("skip", "a", "TestX", ""), ev("pass", "a", "", ""),
			},
			want: []string{"a TestX (skipped, which is a failure on CI): no bridges\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name: "a package whose results are cached",
			in: []string{
				ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", ""), ev("output", "a", "", "ok  \tcertrotation.dev/a\t(cached)\n"), ev("pass", "a", "", ""),
				ev("run", "b", "TestX", ""), ev("pass", "b", "TestX", ""), ev("output", "b", "", "ok  \tcertrotation.dev/b\t0.003s\n"), ev("pass", "b", "", ""),
			},
			wantOK: true,
			want: []string{
				"ok        certrotation.dev/a (cached)\n", "ok        certrotation.dev/b (0.0 s)\n", "1 of 2 packages did not run: their results are cached",
				"\n2 passed, 0 failed, 0 skipped\n",
			},
		},
		{
			name:     "a package without tests ends as well",
			expected: []string{module + "a", module + "b"},
			in:       []string{ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", ""), ev("pass", "a", "", ""), ev("skip", "b", "", "")},
			wantOK:   true,
			want:     []string{"no tests  certrotation.dev/b", "\n1 passed, 0 failed, 0 skipped\n"},
		},
		{
			name:     "go test was killed",
			expected: []string{module + "a", module + "b", module + "c"},
			in: []string{
				ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", ""), ev("pass", "a", "", ""),
				ev("run", "b", "TestX", ""), ev("output", "b", "TestX", "halfway\n"),
			},
			exit: exitOf(t, "kill -KILL $$"),
			want: []string{
				"NO END    certrotation.dev/b\n--- certrotation.dev/b TestX did not finish\nhalfway\n", "failed tests:\n  b TestX (did not finish)\n",
				"go test: signal: killed\n", "certrotation.dev/b did not report its end\n", "certrotation.dev/c did not report its end\n",
				"\n1 passed, 4 failed, 0 skipped\n",
			},
			wantNo: []string{"certrotation.dev/a did not"},
		},
		{
			name:     "a package is missing, whatever go test's exit code says",
			expected: []string{module + "a", module + "b"},
			in:       []string{ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", ""), ev("pass", "a", "", "")},
			want:     []string{"failed outside of tests:\n  certrotation.dev/b did not report its end\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name:     "go test's exit code, though no package failed",
			expected: []string{module + "a"},
			in:       []string{ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", ""), ev("pass", "a", "", "")},
			exit:     exitOf(t, "exit 1"),
			want:     []string{"failed outside of tests:\n  go test: exit status 1\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name: "an exit code of go test that no failed test explains",
			in:   []string{ev("run", "a", "TestX", ""), ev("fail", "a", "TestX", ""), ev("fail", "a", "", "")},
			exit: exitOf(t, "exit 2"),
			want: []string{"go test: exit status 2\n", "\n0 passed, 2 failed, 0 skipped\n"},
		},
		{
			name: "a package that does not compile",
			in: []string{
				"{\"ImportPath\":\"certrotation.dev/a\",\"Action\":\"build-output\",\"Output\":\"a.go:1: undefined: x\\n\"}\n",
				"{\"Action\":\"fail\",\"Package\":\"certrotation.dev/a\",\"FailedBuild\":\"certrotation.dev/a\"}\n",
			},
			want: []string{"undefined: x", "failed outside of tests:\n  certrotation.dev/a does not compile", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		{
			name: "a test that a crash cut off",
			in: []string{
				ev("run", "a", "TestX", ""), ev("output", "a", "TestX", "halfway\n"), ev("output", "a", "", "panic: boom\n"), ev("fail", "a", "", ""),
			},
			want: []string{"panic: boom", "halfway", "a TestX (did not finish)"},
		},
		{name: "no test ran", in: []string{ev("skip", "a", "", "")}, want: []string{"no test ran", "\n0 passed, 0 failed, 0 skipped\n"}},
		{name: "only skipped", in: []string{ev("run", "a", "TestX", ""), ev("skip", "a", "TestX", "")}, want: []string{"(no reason given)"}},
		{
			name: "an error of the go command is kept",
			in:   []string{"go: cannot find main module\n", ev("run", "a", "TestX", ""), ev("pass", "a", "TestX", "")},
			want: []string{"cannot find main module", "\n1 passed, 1 failed, 0 skipped\n"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			sum := newSummary(&out, test.expected, test.ci)
			only := &part{summary: sum}
			if err := readEvents(strings.NewReader(strings.Join(test.in, "")), only.add); err != nil {
				t.Fatal(err)
			}
			only.exited(test.exit)
			if ok := sum.finish(); ok != test.wantOK {
				t.Errorf("ok is %t, want %t", ok, test.wantOK)
			}
			for _, part := range test.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in:\n%s", part, out.String())
				}
			}
			for _, part := range test.wantNo {
				if strings.Contains(out.String(), part) {
					t.Errorf("%q in:\n%s", part, out.String())
				}
			}
		})
	}
}
