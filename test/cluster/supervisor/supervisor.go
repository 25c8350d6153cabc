// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/cluster/balancer"
)

// Supervisor runs the API servers of this machine.
type Supervisor struct {
	cfg      Config
	core     kubernetes.Interface
	live     *live
	store    *store
	first    *material
	servers  []*apiServer
	balancer *balancer.Balancer
	rollout  *rollout
	reporter *reporter
}

// New prepares a supervisor: it writes the seed to the disk and starts nothing.
func New(cfg Config) (*Supervisor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Supervisor{cfg: cfg, live: newLive()}
	var err error
	if s.store, s.first, err = openStore(cfg.Dir, cfg.SeedDir, cfg.Servers); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", cfg.Dir, err)
	}
	if s.core, err = kubernetes.NewForConfig(cfg.Client); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	rotations, err := versioned.NewForConfig(cfg.Client)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	backends, err := s.backends()
	if err != nil {
		return nil, err
	}
	if s.balancer, err = balancer.New(balancer.Config{
		Listeners: cfg.Listeners, Backends: backends, CheckEvery: s.cfg.CheckEvery, Patience: s.cfg.Patience,
	}); err != nil {
		return nil, err
	}
	for _, server := range cfg.Servers {
		s.servers = append(s.servers, &apiServer{
			Server: server, requests: make(chan restartRequest), begin: s.cfg.beginProcess(server, s.store),
			takeOut: func() { s.balancer.TakeOut(server.Name) }, reset: func() { s.balancer.Reset(server.Name) },
		})
	}
	s.reporter = &reporter{
		client: rotations, cfg: &s.cfg, servers: s.servers, wake: make(chan struct{}, 1), accepted: map[reportKey]Report{},
		proven: func(name string) bool { return s.balancer.State(name).Proven },
	}
	s.rollout = &rollout{
		cfg: &s.cfg, store: s.store, servers: s.servers, live: s.live, leaf: s.first.leaf, loaded: s.reporter.poke,
		ready: func(name string) bool { return s.balancer.State(name).Ready },
		wake:  make(chan struct{}, 1), asked: map[string]int{}, unreadySince: map[string]time.Time{},
	}
	s.reporter.leaf = s.rollout.presented
	return s, nil
}

// backends returns the API servers. Each has a check of its own /readyz, which includes etcd.
func (s *Supervisor) backends() ([]balancer.Backend, error) {
	var out []balancer.Backend
	for _, server := range s.cfg.Servers {
		config := rest.CopyConfig(s.cfg.Client)
		config.Host, config.QPS = "https://"+server.Address, -1
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("make a client for %s: %w", server.Name, err)
		}
		out = append(out, balancer.Backend{Name: server.Name, Address: server.Address, Check: readyz(client, config.Host)})
	}
	return out, nil
}

func readyz(client *http.Client, host string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s/readyz: %s", host, response.Status)
		}
		return nil
	}
}

// Run runs everything until the context ends. Then the balancer stops accepting, and all API servers stop gracefully
// at the same time.
func Run(ctx context.Context, cfg Config) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// Run is described at the function of that name. Call it at most once.
func (s *Supervisor) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	if s.cfg.Control != nil {
		running.Go(func() { s.serveControl(ctx, s.cfg.Control) })
	}
	for _, server := range s.servers {
		running.Go(func() { server.run(ctx, s.first.trusts[server.Name]) })
	}
	running.Go(func() { s.balancer.Run(ctx) })
	running.Go(func() { s.rollout.run(ctx) })
	running.Go(func() { s.reporter.run(ctx) })
	err := s.watch(ctx)
	cancel()
	running.Wait()
	s.balancer.CloseConnections()
	return err
}

// watch passes on the balancer's changes. It begins to follow the API once an API server is ready: a reflector that
// starts earlier would wait out a long backoff.
func (s *Supervisor) watch(ctx context.Context) error {
	following := make(chan error, 1)
	begun := false
	for {
		select {
		case <-s.balancer.Readiness():
			s.rollout.poke()
			s.reporter.poke()
		case err := <-following:
			return err
		case <-ctx.Done():
			if begun {
				return <-following
			}
			return nil
		}
		if !begun && s.anyReady() {
			begun = true
			go func() { following <- s.live.follow(ctx, s.core, &s.cfg) }()
		}
	}
}

func (s *Supervisor) anyReady() bool {
	for _, server := range s.servers {
		if s.balancer.State(server.Name).Ready {
			return true
		}
	}
	return false
}
