// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	"certrotation.dev/admission"
)

// webhookPath is where the ValidatingWebhookConfiguration points to.
const webhookPath = "/validate"

// webhook is the face of admission, on a listener of its own.
type webhook struct {
	serving *genericapiserver.SecureServingInfo
	mux     *http.ServeMux
	// delay is how long to go on after the shutdown began, so that callers notice; drain is how long a review may last.
	delay, drain time.Duration
	draining     milestone
}

func newWebhook(config CompletedConfig, s *Server, c clients, clk clock.PassiveClock) (*webhook, error) {
	handler, err := admission.New(admission.Config{
		Inventory:     s.inventory,
		Client:        c.kube,
		Clock:         clk,
		RecordWriters: config.extra.RecordWriters,
		Registerer:    legacyregistry.Registerer(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the webhook: %w", err)
	}
	w := &webhook{
		serving: config.extra.Webhook,
		mux:     http.NewServeMux(),
		delay:   config.generic.ShutdownDelayDuration,
		drain:   config.generic.RequestTimeout,
	}
	w.mux.Handle(webhookPath, handler)
	healthz.InstallLivezHandler(w.mux, healthz.PingHealthz)
	healthz.InstallReadyzHandler(w.mux, append(s.readyChecks(),
		check("shutdown", "this replica is shutting down", func() bool { return !w.draining.reached.Load() }))...)
	return w, nil
}

// run serves until ctx ends and all reviews that were begun are answered.
func (w *webhook) run(ctx context.Context) error {
	stop := make(chan struct{})
	drained, stopped, err := w.serving.Serve(w.mux, w.drain, stop)
	if err != nil {
		return fmt.Errorf("serve the webhook: %w", err)
	}
	<-ctx.Done()
	w.draining.reach()
	<-time.After(w.delay)
	close(stop)
	<-stopped
	<-drained
	return nil
}
