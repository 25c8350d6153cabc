// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// patience bounds the duration of one connection.
const patience = 10 * time.Second

// serve accepts connections until the context ends, and ends those that it has accepted. Each handshake uses what is loaded at
// that moment.
func (p *program) serve(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var answering sync.WaitGroup
	defer answering.Wait()
	config := p.source.ServerConfig(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", address, err)
		}
		answering.Go(func() { p.answer(context.WithoutCancel(ctx), tls.Server(conn, config)) })
	}
}

// answer shakes hands and echoes one byte.
func (p *program) answer(ctx context.Context, conn *tls.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		// A connection that ends before it sends anything (a port check) is not a failed handshake.
		var record tls.RecordHeaderError
		if !isClosed(err) && !errors.As(err, &record) {
			p.stats.failed(err)
		}
		return
	}
	p.stats.succeeded()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var b [1]byte
	if _, err := conn.Read(b[:]); err == nil {
		_, _ = conn.Write(b[:])
	}
}
