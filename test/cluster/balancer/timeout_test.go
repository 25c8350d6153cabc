// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"certrotation.dev/test/pipenet"
)

// TestServerThatSaysNothing: only the first client of a mute server waits for its answer.
func TestServerThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Rare checks: the balancer does not notice the mute server. Clients wait longer than AnswerTimeout.
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

// pipes is a network in memory. The clock of the synctest bubble drives its timeouts.
type pipes struct{ pipenet.Network }

func (p *pipes) listen(*testing.T) net.Listener { return p.Listen() }

func (p *pipes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return p.DialContext(ctx, network, address)
}
