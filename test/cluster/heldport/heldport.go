// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package heldport

import (
	"fmt"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Take reserves a TCP port on every IPv4 address of this machine until the end of t.
func Take(t testing.TB) int {
	t.Helper()
	// Hold the lock, so that no process started meanwhile inherits the socket.
	syscall.ForkLock.RLock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatalf("make a socket: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := share(socket); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{}); err != nil {
		t.Fatalf("reserve a port: %v", err)
	}
	bound, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatalf("read which port is reserved: %v", err)
	}
	address, ok := bound.(*unix.SockaddrInet4)
	if !ok {
		t.Fatalf("a socket of IPv4 has the address %T", bound)
	}
	return address.Port
}

// Share is the Control function of a net.ListenConfig that listens on a reserved port.
func Share(_, _ string, conn syscall.RawConn) error {
	var failed error
	if err := conn.Control(func(socket uintptr) { failed = share(int(socket)) }); err != nil {
		return err
	}
	return failed
}

func share(socket int) error {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return fmt.Errorf("set SO_REUSEPORT: %w", err)
	}
	return nil
}
