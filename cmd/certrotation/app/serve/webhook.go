// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/set"

	"certrotation.dev/admission"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// Paths for a ValidatingWebhookConfiguration: reviewPath with the Service kubernetes of the namespace default,
// webhookPath with our own Service.
const (
	reviewPath  = "/apis/" + v1alpha1.GroupName + "/v1alpha1/reviews"
	webhookPath = "/validate"
)

// stranger is the answer to every client but kube-apiserver. It is sent before the request's body is read.
const stranger = "only kube-apiserver may send reviews"

// webhook serves admission reviews. It is part of the secure port, behind its authentication. It also has its own
// listener if client certificates identify kube-apiserver.
type webhook struct {
	reviews http.Handler
	// serving is nil without a listener.
	serving *genericapiserver.SecureServingInfo
	mux     *http.ServeMux
	// delay is how long the listener serves requests after the shutdown began, so that clients notice it. drain is
	// how long a review may last.
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

// before answers reviews and passes everything else on. For a webhook at the Service kubernetes, kube-apiserver calls
// itself as its loopback user. Its aggregator forwards the review like any request for our API: with the front proxy
// certificate and the name of that user. No other client can authenticate as that user.
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

// run serves the listener until ctx ends and all reviews in flight are answered.
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

// certified passes on requests with a client certificate of one of the CAs and, if names are given, with one of these
// common names. All others get an answer without information, before a byte of the body is read.
func certified(cas dynamiccertificates.CAContentProvider, names []string, next http.Handler) http.Handler {
	authenticator := x509.NewDynamic(cas.VerifyOptions, x509.CommonNameUserConversion)
	allowed := set.New(names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok, err := authenticator.AuthenticateRequest(r)
		switch {
		case err != nil || !ok:
			if err != nil {
				klog.FromContext(r.Context()).V(2).Info("Refused a client certificate on the webhook port", "reason", err.Error())
			}
			http.Error(w, stranger, http.StatusUnauthorized)
		case allowed.Len() > 0 && !allowed.Has(who.User.GetName()):
			http.Error(w, stranger, http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
