// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

// TestStaticPods covers the events in the life of nodes without a kube-apiserver.
func TestStaticPods(t *testing.T) {
	t.Parallel()
	image := buildWitness(t)
	begun := time.Now()
	w := nodes.ForTest(t, nodes.Config{Names: []string{"a", "b", "c"}, Images: []string{image}, Progress: t.Output()})
	t.Logf("three nodes after %.1f s", time.Since(begun).Seconds())
	a, b, c := w.Node("a"), w.Node("b"), w.Node("c")
	for _, n := range w.Nodes() {
		putManifest(t, n, witnessPod("witness", n.Name()+" one", "hostNetwork: true"))
	}
	for _, n := range w.Nodes() {
		hears(t, n.IP(), n.Name()+" one")
	}
	t.Logf("their pods after %.1f s", time.Since(begun).Seconds())

	t.Run("a hostPath is the node's own", func(t *testing.T) {
		for _, n := range w.Nodes() {
			if got, want := said(t, n), n.Name()+" one"; got != want {
				t.Errorf("the file of node %s says %q, want %q", n.Name(), got, want)
			}
		}
		if _, err := os.Stat("/var/lib/witness"); err == nil {
			t.Error("the pods wrote to this machine's /var/lib/witness")
		}
	})
	t.Run("the log of a container", func(t *testing.T) {
		eventually(t, "read the log", func() error { _, err := a.ContainerLogs("witness-a", "witness"); return err })
		if text, err := a.ContainerLogs("witness-a", "witness"); err != nil || text != "I say a one\n" {
			t.Errorf("got %q, %v", text, err)
		}
	})
	t.Run("a new manifest replaces the pod", func(t *testing.T) {
		before, err := a.RunningContainer(t.Context(), "witness-a", "witness")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		putManifest(t, a, witnessPod("witness", "a two", "hostNetwork: true"))
		hears(t, a.IP(), "a two")
		t.Logf("the new pod answers %.1f s after its manifest was written", time.Since(begun).Seconds())
		if after, err := a.WaitContainer(t.Context(), "witness-a", "witness", before.ID); err != nil || after.ID == before.ID {
			t.Errorf("before %v, after %v, %v", before, after, err)
		}
	})
	t.Run("kubelet starts a killed container again", func(t *testing.T) {
		before, err := a.RunningContainer(t.Context(), "witness-a", "witness")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := a.KillContainer(t.Context(), "witness-a", "witness"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.WaitContainer(t.Context(), "witness-a", "witness", before.ID); err != nil {
			t.Fatal(err)
		}
		t.Logf("after %.1f s", time.Since(begun).Seconds())
		hears(t, a.IP(), "a two")
	})
	t.Run("isolated nodes", func(t *testing.T) { testIsolation(t, a, b, c) })
	t.Run("a loss of power", func(t *testing.T) { testPower(t, b) })
	t.Run("containers outlive kubelet", func(t *testing.T) {
		if err := c.StopKubelet(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, err := c.RunningContainer(t.Context(), "witness-c", "witness")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartKubelet(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after, err := c.RunningContainer(t.Context(), "witness-c", "witness"); err != nil || after != before {
			t.Errorf("before %v, after %v, %v", before, after, err)
		}
	})
	t.Run("a node that joins", func(t *testing.T) {
		if err := w.Add(t.Context(), "late"); err != nil {
			t.Fatal(err)
		}
		putManifest(t, w.Node("late"), witnessPod("witness", "late one", "hostNetwork: true"))
		hears(t, w.Node("late").IP(), "late one")
		hearsFrom(t, w.Node("late"), a.IP(), "a two")
	})
	t.Run("memory", func(t *testing.T) { t.Log(memoryOf(t, w)) })
	t.Run("Stop leaves nothing behind", func(t *testing.T) {
		trace := traceOf(w)
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		trace.isGone(t)
	})
}

func testIsolation(t *testing.T, a, b, c *nodes.Node) {
	connected := func(from, to *nodes.Node, want bool) {
		t.Helper()
		if want {
			hearsFrom(t, from, to.IP(), said(t, to))
			return
		}
		if text, err := hearFrom(t.Context(), from, to.IP()); err == nil {
			t.Errorf("%s hears %q from %s", from.Name(), text, to.Name())
		}
	}
	connected(a, b, true)
	if err := a.Isolate(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	connected(a, b, false)
	connected(b, a, false)
	connected(a, c, true)
	if err := c.Isolate(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(a, c, false)
	connected(c, b, false)
	hears(t, c.IP(), "c one") // From the machine.
	if err := a.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(a, b, true)
	connected(a, c, false)
	if err := c.PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := c.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	hears(t, c.IP(), "c one")
	connected(a, c, false)
	connected(c, a, false)
	if err := c.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(a, c, true)
	connected(c, b, true)
	if err := a.Isolate(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "no such other node") {
		t.Errorf("isolation from a node that does not exist: %v", err)
	}
}

func testPower(t *testing.T, n *nodes.Node) {
	before, err := n.RunningContainer(t.Context(), "witness-b", "witness")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := n.PowerOff(); err != nil {
		t.Fatal(err)
	}
	t.Logf("off after %.1f s", time.Since(begun).Seconds())
	if text, err := hear(t.Context(), n.IP()); err == nil {
		t.Errorf("a node without power says %q", text)
	}
	if _, err := n.Exec(t.Context(), "true"); err == nil || !strings.Contains(err.Error(), "the node is off") {
		t.Errorf("a command in a node without power: %v", err)
	}
	if got := said(t, n); got != "b one" {
		t.Errorf("its disk says %q", got)
	}
	if err := os.Remove(n.Path("/var/lib/witness/said")); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	if err := n.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("on after %.1f s", time.Since(begun).Seconds())
	after, err := n.WaitContainer(t.Context(), "witness-b", "witness", before.ID)
	if err != nil || after.ID == before.ID {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
	hears(t, n.IP(), "b one")
	t.Logf("its pod answers after %.1f s", time.Since(begun).Seconds())
	if got := said(t, n); got != "b one" {
		t.Errorf("its disk says %q", got)
	}
	if _, err := os.Stat(filepath.Dir(n.LogFile("kubelet"))); err != nil {
		t.Error(err)
	}
}
