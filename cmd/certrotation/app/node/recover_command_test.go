// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/test/disktest"
)

func TestRecoverCommand(t *testing.T) {
	now := time.Now()
	end := now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		args []string
		code int
		says []string
		// wrote is true if the command changes the disk.
		wrote bool
	}{
		"dry run":                   {args: []string{"--peers=", "--dry-run"}, says: []string{"re-sign the CA", "reissue the leaf etcd-peer-node-0", "Nothing was written"}},
		"recovers":                  {args: []string{"--peers="}, says: []string{"Done.", "kubectl apply --server-side"}, wrote: true},
		"no output":                 {args: []string{"--peers=", "--output-dir="}, says: []string{"Done.", "Nothing was written for the API server"}, wrote: true},
		"no signer":                 {args: []string{"--peers=", "--namespace=other"}, code: 1, says: []string{"check --namespace"}},
		"unknown flag":              {args: []string{"--nonsense"}, code: 2, says: []string{"--nonsense"}},
		"output that is relative":   {args: []string{"--output-dir=x"}, code: 2, says: []string{"absolute"}},
		"contradiction":             {args: []string{"--revision=1", "--reissue"}, code: 2, says: []string{"exclude each other"}},
		"empty name":                {args: []string{"--name="}, code: 2, says: []string{"--name is empty"}},
		"a peer that is none":       {args: []string{"--peers=a="}, code: 2, says: []string{"--peers"}},
		"a signer from a directory": {args: []string{"--peers=", "--signer-dir=/nowhere"}, code: 1, says: []string{"/nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			node := disktest.NewNode(t, "node-0")
			ca := disktest.Authority(t, "signer@1", end)
			node.Install(7, 7, node.Files(ca, end))
			node.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: disktest.Encode(t, disktest.Secret(t, "etcd-signer", ca))})
			code := 0
			command := NewRecoverCommandFor(testclock.NewFakePassiveClock(now), func(c int) {
				if code == 0 {
					code = c
				}
			})
			var out bytes.Buffer
			command.SetOut(&out)
			command.SetErr(&out)
			command.SilenceErrors = true
			command.SetArgs(append([]string{
				"--manifest-dir=" + node.Manifests, "--resource-dir=" + node.Resources,
				"--output-dir=" + filepath.Join(node.Resources, "recovered"),
			}, tc.args...))
			if err := command.ExecuteContext(t.Context()); err != nil && code == 0 {
				t.Fatal(err)
			}
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, says := range tc.says {
				if !strings.Contains(out.String(), says) {
					t.Errorf("%q is missing:\n%s", says, out.String())
				}
			}
			if strings.Contains(out.String(), "PRIVATE KEY") {
				t.Error("the output holds a key")
			}
			entries, err := os.ReadDir(node.Resources)
			if err != nil || (len(entries) > 1) != tc.wrote {
				t.Errorf("in the resource directory are %v (%v), wrote is to be %t", entries, err, tc.wrote)
			}
		})
	}
}
