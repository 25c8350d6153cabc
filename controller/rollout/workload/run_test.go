// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestRunFollowsAndRests: a workload is restarted and followed at a limited rate, and at rest nothing is read.
func TestRunFollowsAndRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.deployed("web", formerHash)
		c := w.controller(func(cfg *Config) { cfg.Clock = clock.RealClock{} })
		ctx, cancel := context.WithCancel(w.ctx())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		c.NamespaceChanged(home)
		synctest.Wait()
		if w.carries("web") != newestHash {
			t.Fatal("not restarted")
		}
		w.reads = 0
		for range 600 {
			// Each replaced pod triggers this.
			c.NamespaceChanged(home)
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the clock of the bubble
		}
		if w.reads < 10 || w.reads > 13 {
			t.Errorf("read %d times in a minute", w.reads)
		}
		w.rolled("web")
		time.Sleep(nextLook + time.Second) //nolint:forbidigo // the clock of the bubble
		w.reads = 0
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the clock of the bubble
		if w.reads != 0 || len(w.restarts()) != 1 {
			t.Errorf("%d reads and the writes %q at rest", w.reads, w.wrote)
		}
		cancel()
		<-done
	})
}
