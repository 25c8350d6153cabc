// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

const child = "CERTROTATION_UNDUMPABLE_CHILD"

// TestProcess runs in a child process: the settings would last for the other tests.
func TestProcess(t *testing.T) {
	if os.Getenv(child) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$", "-test.v")
		command.Env = append(os.Environ(), child+"=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := MakeUndumpable(); err != nil {
		t.Fatal(err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("dumpable is %d, %v, want 0", dumpable, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Cur != 0 || limit.Max != 0 {
		t.Errorf("core dumps may have %d bytes, %d at most, %v, want none", limit.Cur, limit.Max, err)
	}
}
