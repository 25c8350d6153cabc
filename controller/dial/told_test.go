// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// TestToldIsNoPortScanner: the told text depends only on the address and its name, so that it does not reveal open
// ports.
func TestToldIsNoPortScanner(t *testing.T) {
	refusal := &Refusal{Address: netip.MustParseAddr("169.254.169.254"), Range: "link-local"}
	for name, tc := range map[string]struct {
		err         error
		told, cause string
	}{
		"closed port":       {err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, told: Unproven, cause: "refused"},
		"no route":          {err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, told: Unproven, cause: "unreachable"},
		"filtered":          {err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, told: Unproven, cause: "timeout"},
		"no TLS":            {err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, told: Unproven, cause: "notTLS"},
		"an alert":          {err: &net.OpError{Op: "remote error", Err: errors.New("tls: protocol version")}, told: Unproven, cause: "alert"},
		"it hangs up":       {err: io.EOF, told: Unproven, cause: "closed"},
		"a reset":           {err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, told: Unproven, cause: "closed"},
		"another authority": {err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, told: Unproven, cause: "certificate"},
		"something else":    {err: errors.New("SSH-2.0"), told: Unproven, cause: "other"},
		"not dialled": {
			err: fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Err: refusal}), cause: "denied",
			told: "its address 169.254.169.254 is not dialled: it is link-local",
		},
		"no such name": {err: &net.DNSError{Name: "web.demo.svc", IsNotFound: true}, told: "its host name web.demo.svc is not known", cause: "resolution"},
		"no resolver":  {err: &net.DNSError{Name: "web.demo.svc", IsTimeout: true}, told: "its host name web.demo.svc cannot be resolved", cause: "resolution"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Told(tc.err); got != tc.told {
				t.Errorf("told %q, want %q", got, tc.told)
			}
			if got := cause(t.Context(), tc.err); got != tc.cause {
				t.Errorf("counted as %q, want %q", got, tc.cause)
			}
		})
	}
}
