// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/view/inventory"
)

// leaseGrace is how long /livez tolerates a leader that could not renew its lease and has not noticed.
const leaseGrace = 20 * time.Second

// Run works until ctx ends and then returns nil. Any other end is an error.
func (c *Config) Run(ctx context.Context) error {
	inv, err := inventory.New(c.Reads, inventory.Options{
		Namespaces: c.Namespaces, Register: c.Metrics.Register, ClockSkew: c.Clock.Latest,
	})
	if err != nil {
		return fmt.Errorf("make inventory: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.Client.EventsV1()})
	defer broadcaster.Shutdown()
	workers, err := c.workers(inv, broadcaster.NewRecorder(scheme.Scheme, component))
	if err != nil {
		return err
	}
	watchdog := leaderelection.NewLeaderHealthzAdaptor(leaseGrace)
	stopServing, err := c.serve(ctx, inv, watchdog)
	if err != nil {
		return err
	}
	defer stopServing()

	// Watches and events outlive the workers, which need both for their last write.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer inv.Wait()
	defer stop()
	if err := broadcaster.StartRecordingToSinkWithContext(serving); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	inv.Start(serving)
	return c.lead(ctx, watchdog, func(ctx context.Context) { runAll(ctx, inv, workers) })
}

// runAll runs the workers until ctx ends. It waits for the inventory first: a decision on half of the facts could be
// wrong.
func runAll(ctx context.Context, inv *inventory.Inventory, workers []worker) {
	if err := inv.WaitForSync(ctx); err != nil {
		return
	}
	klog.FromContext(ctx).Info("Leading")
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.Run(ctx) })
	}
	running.Wait()
}
