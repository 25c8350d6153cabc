// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package heldport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

// TestTake listens on a reserved port without Share, which fails, and twice with it, as a restarted server does.
func TestTake(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", Take(t))
	if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		if err == nil {
			_ = l.Close()
		}
		t.Errorf("somebody listens on a reserved port: %v, want EADDRINUSE", err)
	}
	for range 2 {
		server, err := (&net.ListenConfig{Control: Share}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		met, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if met.RemoteAddr().String() != client.LocalAddr().String() {
			t.Errorf("the server has met %s, want %s", met.RemoteAddr(), client.LocalAddr())
		}
		for _, end := range []interface{ Close() error }{met, client, server} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			if err == nil {
				_ = conn.Close()
			}
			t.Errorf("a reserved port without a server: %v, want ECONNREFUSED", err)
		}
	}
}

func TestReservationsDiffer(t *testing.T) {
	taken := map[int]bool{}
	for range 100 {
		port := Take(t)
		if taken[port] {
			t.Fatalf("port %d is reserved twice", port)
		}
		taken[port] = true
	}
}
