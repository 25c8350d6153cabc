// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// dialFrom connects from another network namespace. A socket belongs to the namespace in which it is made, so only
// the thread that dials enters the namespace.
func dialFrom(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	there, err := os.Open(namespace)
	if err != nil {
		return nil, fmt.Errorf("enter %s: %w", namespace, err)
	}
	defer there.Close()
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlock: the thread then ends with this goroutine, and no other goroutine runs in the wrong namespace.
		runtime.LockOSThread()
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{err: fmt.Errorf("enter %s: %w", namespace, err)}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
