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

// dial opens one connection after the other until the context ends, to each of the present addresses in turn.
func (p *program) dial(ctx context.Context, addresses func() []string, serverName, request string, pause time.Duration) error {
	config := p.source.ClientConfig(&tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12})
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := addresses()
		if len(now) == 0 {
			continue
		}
		switch err := handshake(ctx, config, now[turn%len(now)], request); {
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
func handshake(ctx context.Context, config *tls.Config, address, request string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
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
