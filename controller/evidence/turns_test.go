// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// dials records when connections began.
type dials struct {
	mu sync.Mutex
	at []time.Time
	// answer is nil for a closed port.
	answer func(conn net.Conn)
}

func (d *dials) dial(context.Context, string, string) (net.Conn, error) {
	d.mu.Lock()
	d.at = append(d.at, time.Now())
	d.mu.Unlock()
	if d.answer == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	go d.answer(server)
	return client, nil
}

// most returns the largest number of connections in a second.
func (d *dials) most() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := 0
	for i, begin := range d.at {
		end, _ := slices.BinarySearchFunc(d.at, begin.Add(time.Second), time.Time.Compare)
		most = max(most, end-i)
	}
	return most
}

func (d *dials) since(begin time.Time) (after []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.at {
		if !at.Before(begin) {
			after = append(after, at.Sub(begin))
		}
	}
	return after
}

func manyPods(count int) []string {
	out := make([]string, 0, count)
	for i := range count {
		out = append(out, fmt.Sprintf("web-%03d", i))
	}
	return out
}

// inFlight runs a collector for d in flight, and returns a function that stops it.
func inFlight(t *testing.T, d *trust.Domain, network *dials, perSecond int) (c *Collector, inv *fixed, stop func()) {
	t.Helper()
	inv = &fixed{}
	inv.set(d)
	c = collectorWith(t, apifake.New(t, clock.RealClock{}), &Config{Inventory: inv, Dial: network.dial, HandshakesPerSecond: perSecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	c.NamespaceChanged(testNamespace)
	return c, inv, func() { cancel(); <-done }
}

// TestNeverMoreHandshakesThanAllowed: 200 pods change at once, and each visit needs 16 confirming handshakes.
func TestNeverMoreHandshakesThanAllowed(t *testing.T) {
	const pods, perSecond = 200, 100
	synctest.Test(t, func(t *testing.T) {
		active, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		leaf := newLeaf(t, active, serverDNS, pki.ServerAuth)
		d := podDomain(leaf.Certificate, active, next, manyPods(pods)...)
		config := &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, ClientCAs: pool(active, next), Certificates: []tls.Certificate{keyPair(t, leaf)},
			// A pipe has no buffer for a ticket that the client does not read yet.
			SessionTicketsDisabled: true,
		}
		network := &dials{answer: func(conn net.Conn) {
			server := tls.Server(conn, config)
			_, _ = io.Copy(io.Discard, server)
			_ = server.Close()
		}}
		records := apifake.New(t, clock.RealClock{})
		c := collectorWith(t, records, &Config{Inventory: &fixed{}, Dial: network.dial, HandshakesPerSecond: perSecond})
		if err := c.Refresh(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if made, want := len(network.at), pods*(1+confirmations); made != want {
			t.Errorf("%d handshakes, want %d", made, want)
		}
		if most := network.most(); most > perSecond {
			t.Errorf("%d handshakes in a second, want at most %d", most, perSecond)
		}
		// Each member has a second for its connections, and many waited longer for their turn.
		recall(t, d, records)
		if left := untrusting(d); len(left) > 0 {
			t.Errorf("%d pods are not proven to trust what they have loaded, such as %s", len(left), left[0])
		}
	})
}

// newPods returns count pods in the middle of a rotation, at the time of the test.
func newPods(t *testing.T, count int) *trust.Domain {
	t.Helper()
	active, next := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	return podDomain(newLeaf(t, active, serverDNS, pki.ServerAuth).Certificate, active, next, manyPods(count)...)
}

// TestPodsThatDoNotAnswerInFlight are dialled less and less often, within the limit, and at once after a restart.
func TestPodsThatDoNotAnswerInFlight(t *testing.T) {
	t.Run("many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const pods, perSecond = 200, 20
			network := &dials{}
			_, _, stop := inFlight(t, newPods(t, pods), network, perSecond)
			defer stop()
			time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble
			if most := network.most(); most > perSecond {
				t.Errorf("%d handshakes in a second, want at most %d", most, perSecond)
			}
			if made := len(network.since(time.Time{})); made < pods {
				t.Errorf("%d handshakes in a minute, want every one of %d pods dialled", made, pods)
			}
		})
	})
	t.Run("one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := &dials{}
			d := newPods(t, 1)
			c, inv, stop := inFlight(t, d, network, 20)
			defer stop()
			// The interval is a second: after 2, 4, 8, 16 and then every 30 seconds, plus a tenth. The inventory
			// of this test never gets the records, so each visit but the first happens twice.
			time.Sleep(10 * time.Minute) //nolint:forbidigo // the clock of the bubble
			if made := len(network.since(time.Time{})); made < 2*20 || made > 2*24 {
				t.Errorf("%d handshakes in ten minutes with a pod that does not answer", made)
			}
			again := *d
			again.Parties = slices.Clone(d.Parties)
			again.Parties[0].Members = slices.Clone(d.Parties[0].Members)
			again.Parties[0].Members[0].Pod = &trust.Pod{Started: true, Process: "uid-web-000/2"}
			restarted := time.Now()
			inv.set(&again)
			c.NamespaceChanged(testNamespace)
			// The visit that was due before the restart may come in between and fail. Then the next one is four
			// seconds later.
			time.Sleep(8 * time.Second) //nolint:forbidigo // the clock of the bubble
			after := network.since(restarted)
			if len(after) < 2 || after[0] > 100*time.Millisecond || after[len(after)-1] < 2*time.Second {
				t.Errorf("handshakes %s after its restart, want one at once and others soon", after)
			}
		})
	})
}

// TestWhoWaitsIsNotToBlame: a visit whose time ends while it waits for its turn proves nothing about the member.
func TestWhoWaitsIsNotToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &dials{}
		records := apifake.New(t, clock.RealClock{})
		c := collectorWith(t, records, &Config{Inventory: &fixed{}, Dial: network.dial, HandshakesPerSecond: 1})
		d := newPods(t, 10)
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		if err := c.Refresh(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want that the time is over", err)
		}
		if dialled, recorded := len(network.at), writes(records); dialled != 5 || recorded != 5 {
			t.Errorf("%d pods dialled and %d recorded, want 5 of each", dialled, recorded)
		}
	})
}
