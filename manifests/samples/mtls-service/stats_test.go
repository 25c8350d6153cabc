// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
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
		"certificate: unknown authority":    fmt.Errorf("shake hands: %w", x509.UnknownAuthorityError{}),
		"timeout":                           &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		"network: dial":                     &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"certificate: tls: bad certificate": &net.OpError{Op: "remote error", Err: tls.AlertError(42)},
		"network: closed":                   io.EOF,
		"other":                             os.ErrInvalid,
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := reason(fmt.Errorf("shake hands: %w", context.DeadlineExceeded)); got != "timeout" {
		t.Errorf("a context that has ended: %q", got)
	}
}
