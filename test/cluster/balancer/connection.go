// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"k8s.io/klog/v2"
)

const (
	// acceptPause is the pause after a failed accept, for example without a free file descriptor.
	acceptPause = 50 * time.Millisecond
	// answerSize bounds the first part of a backend's answer, which is passed on as it comes.
	answerSize = 16 << 10
)

func (b *Balancer) accept(ctx context.Context, listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err == nil {
			b.connections.Go(func() { b.serve(ctx, client) })
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		klog.FromContext(ctx).Error(err, "Cannot accept a connection", "address", listener.Addr().String())
		select {
		case <-time.After(acceptPause):
		case <-ctx.Done():
			return
		}
	}
}

// serve connects a client to a backend that answers it, and copies bytes until both sides are done.
func (b *Balancer) serve(ctx context.Context, client net.Conn) {
	defer b.track(client)()
	b.count(func(c *Counts) { c.Accepted++ })
	hello, err := readHello(client, b.cfg.Patience)
	if err != nil {
		return // The client sent nothing: a port scan or a TCP check.
	}
	// When ctx ends, the balancer stops accepting, but still serves the accepted connections.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.Patience)
	defer cancel()
	for {
		backend, epoch, err := b.pick(waiting)
		if err != nil {
			b.count(func(c *Counts) { c.Unserved++ })
			klog.FromContext(ctx).Error(err, "A client is not served", "client", client.RemoteAddr().String())
			return
		}
		server, answer, err := b.introduce(waiting, backend, hello)
		if err == nil {
			b.carry(client, server, answer)
			b.release(backend)
			return
		}
		b.release(backend)
		b.fail(backend, epoch, err)
		b.count(func(c *Counts) { c.Retried++ })
		klog.FromContext(ctx).Info("Trying another backend", "backend", backend.Name, "failure", err)
	}
}

// introduce connects to a backend, sends it the client's first record and returns the first part of its answer. The
// client sees nothing of a failed attempt.
func (b *Balancer) introduce(ctx context.Context, backend *entry, hello []byte) (net.Conn, []byte, error) {
	server, err := b.dial(ctx, "tcp", backend.Address)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", backend.Name, err)
	}
	answer, err := exchange(server, hello, b.cfg.AnswerTimeout)
	if err != nil {
		_ = server.Close()
		return nil, nil, fmt.Errorf("wait for the answer of %s: %w", backend.Name, err)
	}
	return server, answer, nil
}

func exchange(server net.Conn, hello []byte, timeout time.Duration) ([]byte, error) {
	if err := server.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if _, err := server.Write(hello); err != nil {
		return nil, err
	}
	answer := make([]byte, answerSize)
	n, err := server.Read(answer)
	if n == 0 {
		return nil, err // Never nil: a read of nothing always has an error.
	}
	return answer[:n], server.SetDeadline(time.Time{})
}

// carry passes on the answer, and then copies both ways until both sides are closed.
func (b *Balancer) carry(client, server net.Conn, answer []byte) {
	defer b.track(server)()
	if _, err := client.Write(answer); err != nil {
		return
	}
	upstream := make(chan struct{})
	go func() {
		defer close(upstream)
		_, err := io.Copy(server, client)
		closeWrite(server, err)
	}()
	_, err := io.Copy(client, server)
	closeWrite(client, err)
	// A closed server no longer reads. A client that never closes must not keep this connection forever.
	_ = client.SetReadDeadline(time.Now().Add(b.cfg.Linger))
	<-upstream
}

// closeWrite closes the write side of conn when the other direction ends. After an error there is no orderly end to
// pass on.
func closeWrite(conn net.Conn, failure error) {
	half, ok := conn.(interface{ CloseWrite() error })
	if failure != nil || !ok {
		_ = conn.Close()
		return
	}
	_ = half.CloseWrite()
}

// track lets CloseConnections close conn, until the returned function closes it.
func (b *Balancer) track(conn net.Conn) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[conn] = struct{}{}
	return func() {
		_ = conn.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, conn)
	}
}
