// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
)

const pruneTemplate = `{apiVersion: v1, kind: Pod, metadata: {name: etcd}, spec: {
  containers: [{name: etcd, image: "etcd:%d", volumeMounts: [{name: r, mountPath: /r, readOnly: true}]}],
  volumes: [{name: r, hostPath: {path: %s/etcd-pod-REVISION}}]}}`

// node has revisions 1 to 4, of which 4 is installed.
func node(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	layout := nodepod.Layout{Name: "etcd", ResourceDirectory: filepath.Join(dir, "resources"), ManifestDirectory: filepath.Join(dir, "manifests")}
	if err := os.Mkdir(layout.ManifestDirectory, 0o700); err != nil {
		t.Fatal(err)
	}
	disk, err := generation.Create(layout)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ {
		content := nodepod.Content{PodTemplate: fmt.Appendf(nil, pruneTemplate, n, layout.ResourceDirectory)}
		if _, err := disk.Install(t.Context(), generation.Request{Content: content, Revision: n, NodeName: "n", NodeIP: "10.0.0.5", Permitted: &configv1alpha1.PermittedPod{Images: []string{fmt.Sprintf("etcd:%d", n)}}}); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"--resource-dir=" + layout.ResourceDirectory, "--manifest-dir=" + layout.ManifestDirectory}
}

func TestPrune(t *testing.T) {
	tests := []struct {
		name string
		args []string
		left []string
	}{
		{"unprotected", []string{"--rollout=etcd", "--max-eligible-revision=4", "--protected-revisions=2"}, []string{"etcd-pod-2", "etcd-pod-4"}},
		{"upstream's flag", []string{"--static-pod-name=etcd-pod", "--max-eligible-revision=2", "--protected-revisions="}, []string{"etcd-pod-3", "etcd-pod-4"}},
		{"all protected", []string{"--rollout=etcd", "--max-eligible-revision=4", "--protected-revisions=1, 2,3", "--protected-revisions=4"},
			[]string{"etcd-pod-1", "etcd-pod-2", "etcd-pod-3", "etcd-pod-4"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, args := node(t)
			if err := os.Mkdir(filepath.Join(dir, "resources", "etcd-pod-set-aside-1"), 0o700); err != nil {
				t.Fatal(err)
			}
			command, options := newPruneCommand()
			if err := command.ParseFlags(append(args, test.args...)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(options.Complete(), options.Validate()); err != nil {
				t.Fatal(err)
			}
			if err := options.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(filepath.Join(dir, "resources"))
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, entry := range entries {
				if entry.IsDir() {
					left = append(left, entry.Name())
				}
			}
			if diff := cmp.Diff(append(test.left, "etcd-pod-set-aside-1"), left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunFails(t *testing.T) {
	dir, _ := node(t)
	o := NewPruneOptions()
	o.Name, o.MaxEligible, o.Protected = "etcd", 4, sets.New[int]()
	o.ResourceDirectory, o.ManifestDirectory = filepath.Join(dir, "none"), filepath.Join(dir, "manifests")
	if err := o.Run(t.Context()); err == nil {
		t.Error("without a resource directory: no error")
	}
	o.ResourceDirectory, o.Timeout = filepath.Join(dir, "resources"), 1
	if err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--timeout of 1ns has passed") {
		t.Errorf("out of time: %v", err)
	}
}

func TestCompleteRefuses(t *testing.T) {
	for name, change := range map[string]func(*PruneOptions){
		"pod without -pod": func(o *PruneOptions) { o.StaticPodName = "etcd" },
		"two names":        func(o *PruneOptions) { o.Name, o.StaticPodName = "a", "b-pod" },
		"protected text":   func(o *PruneOptions) { o.ProtectedRevisions = []string{"1", "x"} },
		"protected zero":   func(o *PruneOptions) { o.ProtectedRevisions = []string{"01"} },
	} {
		t.Run(name, func(t *testing.T) {
			o := NewPruneOptions()
			change(o)
			if err := o.Complete(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestPruneValidate(t *testing.T) {
	o := NewPruneOptions()
	o.ResourceDirectory, o.ManifestDirectory, o.Timeout = "a", "b", 0
	err := o.Validate()
	for _, name := range []string{"--rollout", "--max-eligible-revision", "--resource-dir", "--manifest-dir", "--timeout"} {
		if err == nil || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
}

// TestPruneCommand runs the whole command once: logging can be set up only once per process.
func TestPruneCommand(t *testing.T) {
	resetLogging(t)
	dir, args := node(t)
	command := NewPruneCommand()
	command.SetArgs(append(args, "--rollout=etcd", "--max-eligible-revision=1"))
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "resources", "etcd-pod-1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("revision 1 is still there: %v", err)
	}
}

// TestPruneHelp compares --help with testdata/prune.help.txt, without the flags of the libraries. `go test
// -update` writes the file.
func TestPruneHelp(t *testing.T) {
	var out bytes.Buffer
	command := NewPruneCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(out.String(), "\nLogs flags:")
	golden := filepath.Join("testdata", "prune.help.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("--help (-want +got):\n%s", diff)
	}
}
