// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/controller/remote"
	"certrotation.dev/registry/view/inventory"
)

// hanging are clusters without a network. Each attempt to connect to east hangs until its timeout, before it is back.
type hanging struct {
	east, west *far
	since      time.Time
	back       time.Time
}

// Client implements Clusters.
func (h *hanging) Client(_ context.Context, _ string, of *inventory.Cluster) (kubernetes.Interface, error) {
	if of.Name == h.west.name {
		return h.west.api.Client, nil
	}
	if time.Now().Before(h.back) {
		<-time.After(10 * time.Second)
		return nil, &remote.SilentError{Cluster: of.Name, Since: h.since, Cause: "it hangs", Until: time.Now().Add(remote.FirstPause)}
	}
	return h.east.api.Client, nil
}

// Keep implements Clusters.
func (h *hanging) Keep(string, func(string) bool) {}

// Silent implements Clusters.
func (h *hanging) Silent() map[string]int { return nil }

// TestRunSilentClusterDelaysNoOther runs the controller: one cluster gets its copies at once, the other one when it is
// back. At rest both are read at the resync only.
func TestRunSilentClusterDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldAt(t, farConfig, time.Now())
		w.rotate()
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble: as long as the rotation has taken
		h := &hanging{east: w.unserved("east"), west: w.unserved("west"), since: time.Now(), back: time.Now().Add(time.Minute)}
		c, stop := w.run(h)
		c.NamespaceChanged(home)
		synctest.Wait()
		if !h.west.follows(w) || time.Now() != h.since {
			t.Errorf("after %s the writes are %v", time.Since(h.since), h.west.wrote)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if !h.east.follows(w) || w.said("cluster east does not answer since") != 2 || w.said("CopyResumed") != 2 {
			t.Errorf("east has the writes %v, events %q", h.east.wrote, w.events)
		}
		h.east.api.ForgetActions()
		c.NamespaceChanged(home)
		time.Sleep(resync / 2) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if n := len(h.east.api.Actions()); n > 0 {
			t.Errorf("%d requests at rest", n)
		}
		h.east.remove(home, h.east.secret(home, "client"))
		time.Sleep(resync) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if !h.east.follows(w) {
			t.Error("a deletion there was not undone")
		}
		stop()
	})
}
