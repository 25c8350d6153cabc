// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	"certrotation.dev/admission"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// Where a ValidatingWebhookConfiguration points to: reviewPath with the Service kubernetes of the namespace default, webhookPath
// with our own Service.
const (
	reviewPath  = "/apis/" + v1alpha1.GroupName + "/v1alpha1/reviews"
	webhookPath = "/validate"
)

// stranger is the answer to whoever is not kube-apiserver. It is given before anything of the request is read.
const stranger = "reviews are for kube-apiserver"

// webhook is the face of admission. It is served on the secure port, behind its authentication, and on a listener of its own
// if there are client certificates to know kube-apiserver by.
type webhook struct {
	reviews http.Handler
	// serving is nil if there is no listener.
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
		Register:      legacyregistry.Register,
	})
	if err != nil {
		return nil, fmt.Errorf("make the webhook: %w", err)
	}
	w := &webhook{
		reviews: handler,
		serving: config.extra.Webhook,
		mux:     http.NewServeMux(),
		delay:   config.generic.ShutdownDelayDuration,
		drain:   config.generic.RequestTimeout,
	}
	if w.serving == nil {
		return w, nil
	}
	w.mux.Handle(webhookPath, certified(w.serving.ClientCA, config.extra.WebhookClientNames, handler))
	healthz.InstallLivezHandler(w.mux, healthz.PingHealthz)
	healthz.InstallReadyzHandler(w.mux, append(s.readyChecks(),
		check("shutdown", "this replica is shutting down", func() bool { return !w.draining.reached.Load() }))...)
	return w, nil
}

// before answers reviews and passes everything else on. kube-apiserver calls itself for a webhook of the Service kubernetes,
// as the user of its loopback connection, and its aggregator brings the review here like any request for our API: with the
// certificate of the front proxy and the name of that user, whom nobody else can be.
func (w *webhook) before(api http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path != reviewPath {
			api.ServeHTTP(response, request)
			return
		}
		who, ok := genericapirequest.UserFrom(request.Context())
		if !ok || who.GetName() != user.APIServerUser {
			http.Error(response, stranger, http.StatusForbidden)
			return
		}
		w.reviews.ServeHTTP(response, request)
	})
}

// run serves the listener until ctx ends and all reviews that were begun are answered.
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
