// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

const (
	// patience bounds how long a client may take for one request.
	patience = 10 * time.Second
	// farewell is how long requests in progress may take at shutdown.
	farewell = 2 * time.Second
)

// Run works until the context ends.
func (c *Config) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() { c.Agent.Run(ctx) })
	defer working.Wait()
	defer cancel()
	if c.Listener == nil {
		<-ctx.Done()
		return nil
	}
	return c.serve(ctx)
}

func (c *Config) serve(ctx context.Context) error {
	server := &http.Server{Handler: c.handler(), ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience}
	klog.FromContext(ctx).Info("Serving health and metrics", "address", c.Listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(c.Listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve health and metrics: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the server of health and metrics: %w", err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health and metrics: %w", err)
	}
	return nil
}

func (c *Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ok, text := c.Agent.Health()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, text) // the client may have disconnected
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, c.Metrics},
		metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}
