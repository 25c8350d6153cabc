// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Config holds the listeners and the backends, which are required, and limits.
type Config struct {
	// Listeners are owned by the balancer: Run closes them.
	Listeners []net.Listener
	Backends  []Backend
	// CheckEvery is the pause between two checks of a backend. Defaults to 200 ms.
	CheckEvery time.Duration
	// CheckTimeout bounds one check. Defaults to 3 s.
	CheckTimeout time.Duration
	// AnswerTimeout bounds the connection to a backend, and after that its answer to the client's first record.
	// Defaults to 5 s.
	AnswerTimeout time.Duration
	// Patience is how long a client waits for a backend, over all attempts. Defaults to 15 s.
	Patience time.Duration
	// Linger is how long a client may keep its side open after the backend has closed its side. Defaults to 30 s.
	Linger time.Duration
}

// Backend is one server.
type Backend struct {
	Name    string
	Address string
	// Check returns nil for a server that may get new connections.
	Check func(context.Context) error
}

// Balancer spreads connections over its backends.
type Balancer struct {
	cfg  Config
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu       sync.Mutex
	backends []*entry
	changed  chan struct{} // Closed and replaced when a waiting connection should look for a backend again.
	counts   Counts
	open     map[net.Conn]struct{}

	readiness   chan struct{} // Of capacity 1: a token after each change of a backend's readiness.
	connections sync.WaitGroup
}

// Counts are the numbers of connections since the start.
type Counts struct {
	Accepted int64 `json:"accepted"`
	// Retried counts attempts with another backend, because the first one did not answer.
	Retried int64 `json:"retried"`
	// Unserved counts connections that were closed without an answer from any backend.
	Unserved int64 `json:"unserved"`
}

// New returns a balancer. It does nothing before Run.
func New(cfg Config) (*Balancer, error) {
	if len(cfg.Listeners) == 0 || len(cfg.Backends) == 0 {
		return nil, fmt.Errorf("make a balancer: %d listeners and %d backends; it needs one of each", len(cfg.Listeners), len(cfg.Backends))
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&cfg.CheckEvery, 200 * time.Millisecond},
		{&cfg.CheckTimeout, 3 * time.Second},
		{&cfg.AnswerTimeout, 5 * time.Second},
		{&cfg.Patience, 15 * time.Second},
		{&cfg.Linger, 30 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	b := &Balancer{
		cfg: cfg, dial: (&net.Dialer{Timeout: cfg.AnswerTimeout}).DialContext,
		changed: make(chan struct{}), open: map[net.Conn]struct{}{}, readiness: make(chan struct{}, 1),
	}
	for _, config := range cfg.Backends {
		b.backends = append(b.backends, &entry{Backend: config, admitted: true})
	}
	return b, nil
}

// Run accepts connections and checks backends until the context ends. Established connections stay open.
func (b *Balancer) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, backend := range b.backends {
		running.Go(func() { b.check(ctx, backend) })
	}
	for _, listener := range b.cfg.Listeners {
		running.Go(func() { b.accept(ctx, listener) })
		context.AfterFunc(ctx, func() { _ = listener.Close() })
	}
	running.Wait()
}

// CloseConnections closes the established connections and waits for their end. Call it after Run has returned.
func (b *Balancer) CloseConnections() {
	b.mu.Lock()
	for conn := range b.open {
		_ = conn.Close()
	}
	b.mu.Unlock()
	b.connections.Wait()
}

// Counts returns the counters.
func (b *Balancer) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

func (b *Balancer) count(add func(*Counts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add(&b.counts)
}
