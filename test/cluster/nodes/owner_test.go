// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

// ownedDir is the environment variable by which TestKilledOwner makes this program run a node in a directory until it
// is killed.
const ownedDir = "CERTROTATION_NODES_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownedDir); dir != "" {
		if err := own(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func own(dir string) error {
	w, err := nodes.Start(context.Background(), nodes.Config{Dir: dir, Names: []string{"orphan"}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.Node("orphan").Path("/ready"), nil, 0o600); err != nil {
		return err
	}
	select {} // Until it is killed.
}

// TestKilledOwner kills a process that runs a node, as the timeout of a test does. Nothing of the node may keep
// running.
func TestKilledOwner(t *testing.T) {
	nodes.Require(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.CommandContext(t.Context(), self)
	owner.Env = append(os.Environ(), ownedDir+"="+dir)
	var output bytes.Buffer
	owner.Stdout, owner.Stderr = &output, &output
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "wait for the node of the other process", func() error {
		_, err := os.Stat(filepath.Join(dir, "orphan", "root", "ready"))
		return err
	})
	pid, err := os.ReadFile(filepath.Join(dir, "orphan", "init.pid"))
	if err != nil {
		t.Fatal(err)
	}
	ns, err := os.Readlink(fmt.Sprintf("/proc/%s/ns/net", strings.TrimSpace(string(pid))))
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // It was killed.
	orphans := trace{dir: dir, namespaces: map[string]bool{ns: true}}
	eventually(t, "wait for the end of the node", orphans.processesGone)

	w, err := nodes.Start(t.Context(), nodes.Config{Dir: dir})
	if err != nil {
		t.Fatalf("start the node again: %v\nthe killed process said: %s", err, output.String())
	}
	tr := traceOf(w)
	if _, err := os.Stat(w.Node("orphan").Path("/ready")); err != nil {
		t.Errorf("the disk of the node: %v", err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr.isGone(t)
}

func TestDetach(t *testing.T) {
	nodes.Require(t)
	dir := t.TempDir()
	cfg := nodes.Config{Dir: dir, Names: []string{"a"}, Detach: true}
	t.Cleanup(func() {
		if err := nodes.StopDir(context.WithoutCancel(t.Context()), dir, t.Output()); err != nil {
			t.Errorf("StopDir: %v", err)
		}
	})
	first, err := nodes.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "a", "kubelet.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.Start(t.Context(), nodes.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "run detached") {
		t.Errorf("a network that does not detach, in the same directory: %v", err)
	}
	begun := time.Now()
	second, err := nodes.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("taken over after %.1f s", time.Since(begun).Seconds())
	after, err := os.ReadFile(filepath.Join(dir, "a", "kubelet.pid"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("kubelet was process %s, is process %s (%v)", before, after, err)
	}
	if !first.Gateway().Equal(second.Gateway()) {
		t.Errorf("the gateway was %s, is %s", first.Gateway(), second.Gateway())
	}

	other, err := nodes.Start(t.Context(), nodes.Config{Dir: t.TempDir(), Names: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if other.Gateway().Equal(second.Gateway()) {
		t.Errorf("two networks have the gateway %s", other.Gateway())
	}
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	tr := traceOf(second)
	if err := nodes.StopDir(t.Context(), dir, t.Output()); err != nil {
		t.Fatal(err)
	}
	tr.isGone(t)
}
