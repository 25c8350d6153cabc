// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"testing"
)

func TestRollout(t *testing.T) {
	for _, nodes := range []int{1, 2, 3, 5} {
		w := newWorld(t, testContext(t), nodes)
		t.Cleanup(w.close)
		if !w.run(200, w.converged) {
			t.Fatalf("%d nodes: not installed; status:\n%s", nodes, w.statusText())
		}
		w.changeLeaves()
		if !w.run(200, w.converged) {
			t.Fatalf("%d nodes: leaves not there; status:\n%s", nodes, w.statusText())
		}
		for _, m := range w.machines {
			if m.restarts != 0 {
				t.Errorf("%d nodes: leaves restarted %s %d times", nodes, m.name, m.restarts)
			}
		}
		w.changeTrust()
		if !w.run(400, w.converged) {
			t.Fatalf("%d nodes: trust not there; status:\n%s", nodes, w.statusText())
		}
		for _, m := range w.machines {
			if m.restarts != 1 {
				t.Errorf("%d nodes: trust restarted %s %d times, want 1", nodes, m.name, m.restarts)
			}
		}
	}
}
