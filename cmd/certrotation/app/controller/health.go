// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leadership
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // depth and latency of the queues
	"k8s.io/klog/v2"

	"certrotation.dev/registry/view/inventory"
)

// farewell is how long requests in progress may take at shutdown.
const farewell = 2 * time.Second

// serve serves health and metrics until the caller calls the returned function, which waits for the end.
func (c *Config) serve(ctx context.Context, inv *inventory.Inventory, watchdog *leaderelection.HealthzAdaptor) (func(), error) {
	if c.Port == nil {
		return func() {}, nil
	}
	stop := make(chan struct{})
	drained, stopped, err := c.Port.serving.Serve(c.Port.guard(c.handler(inv, watchdog)), farewell, stop)
	if err != nil {
		return nil, fmt.Errorf("serve health and metrics: %w", err)
	}
	klog.FromContext(ctx).Info("Serving health and metrics", "address", c.Port.Addr().String())
	return func() {
		close(stop)
		<-stopped
		<-drained
	}, nil
}

func (c *Config) handler(inv *inventory.Inventory, watchdog *leaderelection.HealthzAdaptor) http.Handler {
	mux := http.NewServeMux()
	healthz.InstallLivezHandler(mux, healthz.PingHealthz, healthz.NamedCheck("leader-election", watchdog.Check))
	healthz.InstallReadyzHandler(mux, healthz.PingHealthz, healthz.NamedCheck("inventory", func(*http.Request) error {
		if !inv.HasSynced() {
			return errors.New("the inventory has not listed everything yet")
		}
		return nil
	}))
	mux.Handle("/metrics", metrics.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, c.Metrics},
		metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}
