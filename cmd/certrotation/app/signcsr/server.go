// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Bounds of a connection. A request is small, and its answer takes one signature and three syncs to disk.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = time.Minute
	maxHeaderBytes = 16 << 10
	// farewell is how long requests in flight may take at shutdown.
	farewell = 10 * time.Second
)

// Server is the signer.
type Server struct {
	files  files
	store  *store
	clock  clock.PassiveClock
	secure net.Listener
	health net.Listener // nil for none
	// ready reports whether a valid request would have been signed at the last check.
	ready atomic.Bool
	// inFlight counts the create requests in progress.
	inFlight atomic.Int64
}

// New checks the configuration, locks the directory, and listens. It serves nothing before Run.
func New(ctx context.Context, options *Options, clk clock.PassiveClock) (*Server, error) {
	s := &Server{files: files{options: options}, clock: clk}
	if err := s.files.check(clk.Now()); err != nil {
		return nil, err
	}
	s.ready.Store(true)
	var err error
	if s.store, err = openStore(options.StorageDir); err != nil {
		return nil, err
	}
	if err := s.listen(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) listen(ctx context.Context) error {
	var config net.ListenConfig
	var err error
	if s.secure, err = config.Listen(ctx, "tcp", s.files.options.BindAddress); err != nil {
		return fmt.Errorf("listen on --bind-address: %w", err)
	}
	if address := s.files.options.HealthBindAddress; address != "" {
		if s.health, err = config.Listen(ctx, "tcp", address); err != nil {
			return fmt.Errorf("listen on --insecure-health-bind-address: %w", err)
		}
	}
	return nil
}

// close releases what New has acquired, except listeners that Run has closed.
func (s *Server) close() error {
	var errs []error
	for _, listener := range []net.Listener{s.secure, s.health} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.store.close())...)
}

// Run serves until ctx ends, drains requests in flight, and then returns nil.
func (s *Server) Run(ctx context.Context) error {
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve(serving, tls.NewListener(s.secure, s.tlsConfig()), s.handler())
	})
	if s.health != nil {
		group.Go(func() error { return serve(serving, s.health, s.healthHandler()) })
	}
	group.Go(func() error { return s.watch(serving) })
	klog.FromContext(ctx).Info("Signing", "address", s.secure.Addr(), "storage", s.store.dir)
	return errors.Join(group.Wait(), s.close())
}

// serve serves until ctx ends, and drains.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	logger := klog.FromContext(ctx)
	// A node sends one request, so HTTP/2 would bring only its flaws.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	server := &http.Server{
		Protocols: &protocols,
		Handler:   handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:    klog.NewStandardLogger("WARNING"),
		BaseContext: func(net.Listener) context.Context { return klog.NewContext(context.WithoutCancel(ctx), logger) },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	err := server.Shutdown(draining)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("drain %s: %w", listener.Addr(), err)
	}
	return nil
}

// tlsConfig reads the serving pairs and the client CAs for each handshake.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.certificateFor}
			if s.files.options.ClientCAFile == "" {
				return config, nil
			}
			pool, err := s.files.clientCAs()
			if err != nil {
				return nil, err
			}
			config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, pool
			// A resumed session would not be checked against the current client CAs.
			config.SessionTicketsDisabled = true
			return config, nil
		},
	}
}

// certificateFor returns the first certificate that fits the ClientHello, or else the first of all.
func (s *Server) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	pairs, err := s.files.servingCertificates()
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		if hello.SupportsCertificate(pair) == nil {
			return pair, nil
		}
	}
	return pairs[0], nil
}

// checkEvery is the interval at which watch checks whether a valid request would be signed.
const checkEvery = 10 * time.Second

// watch updates the readiness until ctx ends, so that requests for /readyz, which any client may send, read no file.
func (s *Server) watch(ctx context.Context) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.check(ctx)
		}
	}
}

func (s *Server) check(ctx context.Context) {
	err := s.files.check(s.clock.Now())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Not ready")
	}
	s.ready.Store(err == nil)
}
