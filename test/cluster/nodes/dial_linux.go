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

// dialFrom connects out of another network namespace. A socket belongs to the namespace in which it is made, so only that
// one thread has to go there, and only for so long.
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
		// Never unlocked: the thread ends with this goroutine, and nothing else can run in the wrong namespace.
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
