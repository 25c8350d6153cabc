// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"unknown authority": fmt.Errorf("shake hands: %w", x509.UnknownAuthorityError{}),
		"timeout":           &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		"network: dial":     &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"other":             io.EOF,
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := reason(fmt.Errorf("shake hands: %w", context.DeadlineExceeded)); got != "timeout" {
		t.Errorf("a context that has ended: %q", got)
	}
}
