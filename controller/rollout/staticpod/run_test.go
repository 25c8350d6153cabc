// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return w.statusText() != "", nil
	})
	if err != nil {
		t.Fatal("nothing was written")
	}
	cancel()
	<-done
}
