// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestServerThatSaysNothing costs its first client the time for an answer, and no other one.
func TestServerThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Checks are rare: the balancer does not know yet. Its client waits for longer than it does.
		w := newWorldOn(t, &pipes{}, 2, func(cfg *Config) { cfg.CheckEvery, cfg.AnswerTimeout = time.Hour, patience/2 })
		w.allReady()
		w.servers[0].mute.Store(true)
		begun := time.Now()
		for range 4 {
			if name, err := w.ask(); err != nil || name != "s1" {
				t.Fatalf("got %q (%v), want s1", name, err)
			}
		}
		if took := time.Since(begun); took != w.balancer.cfg.AnswerTimeout {
			t.Errorf("the clients have waited %s, want %s for the answer of s0", took, w.balancer.cfg.AnswerTimeout)
		}
		if counts := w.balancer.Counts(); counts.Retried != 1 || counts.Unserved != 0 {
			t.Errorf("counts are %+v, want one retry", counts)
		}
	})
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOn(t, &pipes{}, 1, func(cfg *Config) { cfg.Patience = patience / 2 })
		w.servers[0].unready.Store(true)
		w.eventually("s0 is not ready", func() bool { return !w.balancer.State("s0").Ready })
		begun := time.Now()
		if _, err := w.ask(); err == nil {
			t.Error("a connection without a ready backend succeeded")
		}
		if took := time.Since(begun); took != patience/2 {
			t.Errorf("the client has waited %s, want %s", took, patience/2)
		}
		if counts := w.balancer.Counts(); counts.Unserved != 1 {
			t.Errorf("counts are %+v, want one unserved", counts)
		}
	})
}

// pipes is a network in memory, for a bubble of synctest, whose clock makes the time-outs.
type pipes struct {
	mu        sync.Mutex
	listeners []*pipeListener
}

func (p *pipes) listen(*testing.T) net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &pipeListener{address: fmt.Sprint(len(p.listeners)), conns: make(chan net.Conn), closed: make(chan struct{})}
	p.listeners = append(p.listeners, l)
	return l
}

func (p *pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	l := p.find(address)
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) find(address string) *pipeListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listeners {
		if l.address == address {
			return l
		}
	}
	return nil
}

type pipeListener struct {
	address string
	conns   chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l }

// Network and String make it its own address.
func (l *pipeListener) Network() string { return "pipe" }
func (l *pipeListener) String() string  { return l.address }
