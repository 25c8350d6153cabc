// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// often is the interval of new connections to client ports, peer ports and the API server. seldom is for metrics
// ports.
const often, seldom = time.Second / 8, time.Second / 2

// probeTimeout bounds one connection to a member. serverTimeout is as long as clients of the API server wait: the
// API server is not restarted while it is probed, so a slow answer only means that the machine is busy.
const probeTimeout, serverTimeout = 10 * time.Second, time.Minute

// target is a TLS server to which the prober connects repeatedly, as one of its clients would.
type target struct {
	name string
	// from is the member that connects, "" for a client outside of the cluster.
	from string
	// member is the node of the server, "" for the API server.
	member string
	// after is the delay before the first connection, every the interval between two.
	after, every time.Duration
	// open connects like a client that starts now, and returns the configuration for its TLS handshake. It fails
	// with errNoClient if there is no such client at the moment.
	open func(ctx context.Context) (net.Conn, *tls.Config, error)
}

// outcome has the results of the connections to one target.
type outcome struct {
	attempts int
	// retried are handshakes that succeeded on an immediate retry, as etcd's clients do. etcd reads a certificate
	// and its key from two files, and a swap may fall between the two reads.
	retried []string
	// failures are handshakes that fail for a correct client.
	failures []string
	// away are the times at which a connection was refused or cut, because the process was not running.
	away []absence
}

// prober connects to its targets until it is stopped.
type prober struct {
	mu       sync.Mutex
	outcomes map[string]*outcome
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func startProber(ctx context.Context, targets []target) *prober {
	beginning, stop := context.WithCancel(ctx)
	p := &prober{outcomes: map[string]*outcome{}, stop: stop}
	// Fill the map before the first probe begins, because probes read it concurrently.
	for _, t := range targets {
		p.outcomes[t.name] = &outcome{}
	}
	for _, t := range targets {
		p.running.Go(func() { p.probe(ctx, beginning, t) })
	}
	return p
}

// probe begins connections until beginning is done. Connections in flight end with ctx.
func (p *prober) probe(ctx, beginning context.Context, t target) {
	select {
	case <-beginning.Done():
		return
	case <-time.After(t.after):
	}
	tick := time.NewTicker(t.every)
	defer tick.Stop()
	for {
		p.running.Go(func() { p.once(ctx, t) })
		select {
		case <-beginning.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *prober) once(ctx context.Context, t target) {
	begun := time.Now()
	err := connect(ctx, t)
	retried := ""
	if err != nil && !isAway(err) && !errors.Is(err, errNoClient) {
		retried = err.Error()
		err = connect(ctx, t)
	}
	if ctx.Err() != nil || errors.Is(err, errNoClient) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.outcomes[t.name]
	o.attempts++
	switch {
	case err == nil && retried != "":
		o.retried = append(o.retried, begun.Format(time.TimeOnly)+" "+retried)
	case err == nil:
	case isAway(err):
		// Record the present time: a busy process delays a connection, and runs until it cuts it.
		o.away = append(o.away, absence{time.Now(), err})
	default:
		o.failures = append(o.failures, begun.Format(time.TimeOnly)+" "+err.Error())
	}
}

// finish stops beginning connections, waits for those in flight, and returns the results.
func (p *prober) finish() map[string]*outcome {
	p.stop()
	p.running.Wait()
	return p.outcomes
}

// errNoClient means that the client on whose behalf to connect does not run.
var errNoClient = errors.New("no such client")

// connect opens one connection and exchanges data. With TLS 1.3 a server refuses a client certificate only after
// the client has completed its handshake.
func connect(ctx context.Context, t target) error {
	timeout := probeTimeout
	if t.member == "" {
		timeout = serverTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, config, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	if err := raw.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	config.NextProtos = []string{"h2"}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	// The HTTP/2 preface and an empty SETTINGS frame. The server answers with its own SETTINGS frame.
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 9))
	return err
}

// checkHandshakes fails the test for every handshake that fails for a correct client. A missing or late answer is
// no failed handshake.
func checkHandshakes(t *testing.T, outcomes map[string]*outcome) {
	t.Helper()
	total, retried := 0, 0
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		total += o.attempts
		retried += len(o.retried)
		if o.attempts == 0 {
			t.Errorf("%s was never probed", name)
		}
		if len(o.failures) > 0 {
			t.Errorf("%s: %d of %d handshakes failed, first %s, last %s", name, len(o.failures), o.attempts, o.failures[0], o.failures[len(o.failures)-1])
		}
	}
	t.Logf("probed: %d new connections to %d targets, %d tried a second time, failed: %d", total, len(outcomes), retried, countFailures(outcomes))
}

// checkAway fails the test if the API server, or two members at once, were away without being disturbed by the
// test.
func checkAway(t *testing.T, outcomes map[string]*outcome, targets []target, disturbed []string) {
	t.Helper()
	for _, tt := range targets {
		if tt.member == "" && len(outcomes[tt.name].away) > 0 && !slices.Contains(disturbed, tt.name) {
			first := outcomes[tt.name].away[0]
			t.Errorf("%s was away %d times, first at %s: %v", tt.name, len(outcomes[tt.name].away), first.at.Format(time.TimeOnly), first.err)
		}
	}
	logAway(t, outcomes, targets)
	checkOneAway(t, outcomes, targets, disturbed)
}

func countFailures(outcomes map[string]*outcome) int {
	n := 0
	for _, o := range outcomes {
		n += len(o.failures)
	}
	return n
}
