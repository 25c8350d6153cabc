// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/test/disktest"
)

// run runs the command and returns what it printed, and the first exit code that it set.
func run(t *testing.T, now time.Time, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	code = 0
	command := NewDoctorCommandFor(testclock.NewFakePassiveClock(now), func(c int) {
		if code == 0 {
			code = c
		}
	})
	var out, errOut bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&errOut)
	command.SilenceErrors = true
	command.SetArgs(args)
	if err := command.ExecuteContext(t.Context()); err != nil && code == 0 {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), code
}

func TestExitCodes(t *testing.T) {
	now := time.Now()
	node := disktest.NewNode(t, "node-0")
	end := now.Add(disktest.Life / 2)
	node.Install(7, 7, node.Files(disktest.Authority(t, "signer@1", end), end))
	dirs := []string{"--manifest-dir=" + node.Manifests, "--resource-dir=" + node.Resources}
	for name, tc := range map[string]struct {
		args []string
		now  time.Time
		code int
		says string
	}{
		"fine":                  {args: append(dirs, "--skip-peers", "--dry-run"), now: now, says: "generation 7/7 is in use"},
		"peers unknown":         {args: dirs, now: now, says: "PeersUnknown"},
		"a single member":       {args: append(dirs, "--peers="), now: now, says: "generation 7/7 is in use"},
		"peers down":            {args: append(dirs, "--peers=127.0.0.1:1,127.0.0.1:2", "--peer-timeout=1s"), now: now, code: 1, says: "NoQuorum"},
		"expired":               {args: append(dirs, "--skip-peers"), now: end.Add(time.Hour), code: 1, says: "certrotation recover"},
		"directory missing":     {args: []string{"--manifest-dir=/nowhere"}, now: now, code: 1, says: "/nowhere"},
		"unknown flag":          {args: []string{"--nonsense"}, now: now, code: 2, says: "--nonsense"},
		"unknown format":        {args: append(dirs, "-o", "xml"), now: now, code: 2, says: "xml"},
		"peer without a host":   {args: append(dirs, "--peers=a="), now: now, code: 2, says: "--peers"},
		"no time for the peers": {args: append(dirs, "--peer-timeout=0s"), now: now, code: 2, says: "--peer-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, tc.now, tc.args...)
			if code != tc.code || !strings.Contains(out+errOut, tc.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, tc.code, tc.says, out, errOut)
			}
		})
	}
}

// TestOutputJSON checks what programs read: fields and severities. No output may contain a secret.
func TestOutputJSON(t *testing.T) {
	now := time.Now()
	node := disktest.NewNode(t, "node-0")
	end := now.Add(disktest.Life / 2)
	files := node.Files(disktest.Authority(t, "signer@1\x1b[31m", end), end)
	_, key := disktest.PairFiles("etcd-peer-node-0")
	node.Install(7, 7, files)
	if err := os.WriteFile(filepath.Join(node.Generation(7, 7), key), files[disktest.ServerBundle], 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--manifest-dir=" + node.Manifests, "--resource-dir=" + node.Resources, "--skip-peers"}
	out, _, code := run(t, now, append(args, "-o", "json")...)
	var got report
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 || got.Worst != nodepod.Error {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	table, _, _ := run(t, end.Add(time.Hour), args...)
	for _, secret := range []string{"PRIVATE KEY", "\x1b"} {
		if strings.Contains(out, secret) || strings.Contains(table, secret) {
			t.Errorf("the output holds %q:\n%s", secret, table)
		}
	}
	if !strings.HasPrefix(table, "SEVERITY") {
		t.Errorf("table:\n%s", table)
	}
}
