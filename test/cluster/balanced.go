// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"certrotation.dev/test/cluster/balancer"
)

// standIn is the kube-apiserver that serves while the other one restarts.
const standIn = APIServer + "-stand-in"

// balanced is the balancer in front of kube-apiserver and its stand-in. refuse ends its goroutine.
type balanced struct {
	*balancer.Balancer
	standIn *Process
	cancel  context.CancelFunc
	ended   chan struct{}
}

func (c *Cluster) startBalancer(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addressOf(c.ports.APIServer))
	if err != nil {
		return fmt.Errorf("listen for kube-apiserver: %w", err)
	}
	b, err := balancer.New(balancer.Config{
		Listeners:  []net.Listener{listener},
		Backends:   []balancer.Backend{c.backend(APIServer, c.ports.Balanced), c.backend(standIn, c.ports.StandIn)},
		CheckEvery: 500 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.balanced = &balanced{
		Balancer: b, cancel: cancel, ended: make(chan struct{}),
		standIn: c.AddProcess(standIn, c.Tool(APIServer), append(GracefulFlags(), c.apiServerArgsAt(c.ports.StandIn)...)...),
	}
	go func() {
		defer close(c.balanced.ended)
		b.Run(running)
	}()
	return nil
}

func (c *Cluster) addressOf(port int) string {
	return net.JoinHostPort(c.cfg.Address, strconv.Itoa(port))
}

// backend returns a backend that is ready while its own /readyz, which includes etcd, passes.
func (c *Cluster) backend(name string, port int) balancer.Backend {
	tlsConfig := &tls.Config{RootCAs: c.certs.pool("ca"), MinVersion: tls.VersionTLS12}
	return balancer.Backend{Name: name, Address: c.addressOf(port), Check: func(ctx context.Context) error {
		return getOK(ctx, tlsConfig, "https://"+c.addressOf(port)+"/readyz")
	}}
}

// refuse ends the balancer, so that new connections do not wait for a kube-apiserver that will not start.
func (b *balanced) refuse() {
	b.cancel()
	<-b.ended
}

// RestartAPIServer restarts kube-apiserver as a control plane upgrade does, while a stand-in serves. Each server
// stops gracefully once the balancer sends it no new connections. It needs Config.Balanced.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if c.balanced == nil {
		return fmt.Errorf("restart %s: it has no balancer (Config.Balanced)", APIServer)
	}
	for _, next := range []func() error{
		func() error { return c.begin(ctx, c.balanced.standIn) },
		func() error { return c.end(ctx, c.apiServer) },
		func() error { return c.begin(ctx, c.apiServer) },
		func() error { return c.end(ctx, c.balanced.standIn) },
	} {
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a kube-apiserver and returns when the balancer connects clients to it.
func (c *Cluster) begin(ctx context.Context, server *Process) error {
	if err := server.Start(); err != nil {
		return err
	}
	c.balanced.Reset(server.Name())
	return server.WaitReady(ctx, func(context.Context) error {
		if state := c.balanced.State(server.Name()); !state.Ready {
			return fmt.Errorf("%s gets no connections: %w", server.Name(), state.Failure)
		}
		return nil
	})
}

// end takes a kube-apiserver out of the balancer and stops it.
func (c *Cluster) end(ctx context.Context, server *Process) error {
	c.balanced.TakeOut(server.Name())
	return server.Stop(ctx)
}
