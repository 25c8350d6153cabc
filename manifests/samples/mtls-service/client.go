// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// dial opens one connection after the other until the context ends.
func (p *program) dial(ctx context.Context, addresses []string, serverName, request string, pause time.Duration) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		switch err := p.handshake(ctx, addresses[turn%len(addresses)], serverName, request); {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			p.stats.succeeded()
		default:
			p.stats.failed(err)
		}
	}
}

// handshake proves both directions: with TLS 1.3 a client learns only from the first read whether the server has
// accepted its certificate.
func (p *program) handshake(ctx context.Context, address, serverName, request string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := p.loader.current.Load()
	dialer := &tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: serverName,
		RootCAs: m.pool, Certificates: []tls.Certificate{m.leaf},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("set deadline: %w", err)
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

// isClosed reports whether the other side closed the connection without a TLS alert.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}
