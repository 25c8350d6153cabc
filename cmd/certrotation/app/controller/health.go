// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // who leads
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // depth and latency of the queues
	"k8s.io/klog/v2"

	"certrotation.dev/registry/view/inventory"
)

// farewell is how long requests may take when the server ends.
const farewell = 2 * time.Second

// serve serves health and metrics until the returned function is called, which waits for the end. A server that fails
// takes nothing else with it: the probes of the kubelet then do what is right.
func (c *Config) serve(ctx context.Context, inv *inventory.Inventory, watchdog *leaderelection.HealthzAdaptor) func() {
	if c.Listener == nil {
		return func() {}
	}
	logger := klog.FromContext(ctx)
	server := &http.Server{Handler: c.handler(inv, watchdog), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(c.Listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Failed to serve health and metrics")
		}
	}()
	logger.Info("Serving health and metrics", "address", c.Listener.Addr().String())
	return func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			logger.V(2).Info("Cut off requests for health or metrics", "reason", err.Error())
		}
		<-done
	}
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
