// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pipenet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// Network connects dialers with listeners. The zero value is ready to use, also by several bubbles.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	lastPort  uint16
}

// Listen listens on an unused port of 127.0.0.1.
func (n *Network) Listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	l := &listener{network: n, address: n.nextAddress(), accepted: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[l.address.String()] = l
	return l
}

// ClosedPort returns an address that refuses connections.
func (n *Network) ClosedPort() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nextAddress().String()
}

func (n *Network) nextAddress() *net.TCPAddr {
	n.lastPort++
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), n.lastPort))
}

// DialContext connects to a listener, like a net.Dialer.
func (n *Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	failure := func(err error) error {
		return &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, err)}
	}
	if l == nil {
		return nil, failure(syscall.ECONNREFUSED)
	}
	client, server := connect(l.address)
	select {
	case l.accepted <- server:
		return client, nil
	case <-l.closed:
		return nil, failure(syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, failure(ctx.Err())
	}
}

type listener struct {
	network  *Network
	address  *net.TCPAddr
	accepted chan net.Conn
	closed   chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.address }

// Close implements net.Listener.
func (l *listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.network.listeners[l.address.String()] != l {
		return net.ErrClosed
	}
	delete(l.network.listeners, l.address.String())
	close(l.closed)
	return nil
}
