// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"testing"
	"time"
)

// TestRun drives the controller only by its watches.
func TestRun(t *testing.T) {
	w := newWorld(t, testContext(t), 1)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.controller.Run(ctx)
	}()
	w.controller.NamespaceChanged(testNamespace)
	// The controller writes its status first.
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for w.statusText() == "" {
		select {
		case <-deadline:
			t.Fatal("nothing was written")
		case <-tick.C:
		}
	}
	cancel()
	<-done
}
