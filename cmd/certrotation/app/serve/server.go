// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	"certrotation.dev/cmd/certrotation/app/process"
	"certrotation.dev/registry/view/inventory"
)

// Server is the process: API and webhook over one inventory.
type Server struct {
	generic     *genericapiserver.GenericAPIServer
	inventory   *inventory.Inventory
	certificate *servingCertificate
	// api and webhook are nil if they are not served.
	api     *apiGroup
	webhook *webhook
}

// New makes the server. Nothing runs before Run.
func (c CompletedConfig) New() (*Server, error) {
	clk := clock.RealClock{}
	clients, err := newClients(c.client)
	if err != nil {
		return nil, err
	}
	s := &Server{certificate: c.extra.Certificate}
	if s.inventory, err = inventory.New(inventory.Clients{
		Core: clients.kube, Metadata: clients.metadata, Config: clients.own,
	}, inventory.Options{Namespaces: c.extra.Namespaces, Register: legacyregistry.Register}); err != nil {
		return nil, fmt.Errorf("make the inventory: %w", err)
	}
	if c.extra.ServeWebhook {
		if s.webhook, err = newWebhook(c, s, clients, clk); err != nil {
			return nil, err
		}
	}
	c.generic.BuildHandlerChainFunc = s.handlers
	if s.generic, err = c.generic.New("certrotation", genericapiserver.NewEmptyDelegate()); err != nil {
		return nil, fmt.Errorf("make the API server: %w", err)
	}
	if err := s.generic.AddReadyzChecks(s.readyChecks()...); err != nil {
		return nil, fmt.Errorf("add checks of readiness: %w", err)
	}
	if c.extra.ServeAPI {
		if s.api, err = newAPIGroup(s.inventory, clients, c.generic.Authorization.Authorizer, c.extra.Replica, clk); err != nil {
			return nil, err
		}
		if err := s.generic.AddReadyzChecks(s.api.readyChecks()...); err != nil {
			return nil, fmt.Errorf("add checks of readiness: %w", err)
		}
		if err := s.api.install(s.generic); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// handlers builds the chain of the secure port. Authentication and authorization come first, as in any API server.
func (s *Server) handlers(api http.Handler, config *genericapiserver.Config) http.Handler {
	inner := process.LimitDebugFlags(api)
	if s.webhook != nil {
		inner = s.webhook.before(inner)
	}
	return genericapiserver.DefaultBuildHandlerChain(inner, config)
}

// Run serves until ctx ends, and returns nil after everything has drained and stopped.
func (s *Server) Run(ctx context.Context) error {
	// Inventory and view must run until the listeners have drained.
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	back, behind := errgroup.WithContext(behind)
	front, serving := errgroup.WithContext(ctx)

	s.inventory.Start(behind)
	back.Go(func() error { s.inventory.Wait(); return nil })
	back.Go(func() error { s.certificate.run(behind); return nil })
	if s.api != nil {
		// If the view fails, the process ends.
		front.Go(func() error { return s.fill(serving, behind, back) })
	}
	if s.webhook != nil && s.webhook.serving != nil {
		front.Go(func() error { return s.webhook.run(serving) })
	}
	front.Go(func() error {
		if err := s.generic.PrepareRun().RunWithContext(serving); err != nil {
			return fmt.Errorf("serve the API: %w", err)
		}
		return nil
	})
	err := front.Wait()
	stop()
	if behindErr := back.Wait(); err == nil {
		err = behindErr
	}
	return err
}

// fill runs the view, from which the listeners serve. It returns an error of the view as soon as it fails while they
// serve.
func (s *Server) fill(serving, behind context.Context, back *errgroup.Group) error {
	failed := make(chan error, 1)
	back.Go(func() error {
		err := s.api.run(behind)
		if err != nil {
			failed <- err
		}
		return err
	})
	select {
	case err := <-failed:
		return err
	case <-serving.Done():
		return nil
	}
}
