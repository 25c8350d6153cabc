// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"certrotation.dev/registry/pki"
)

// Failure describes a failed connection or handshake for the log, so it distinguishes a closed port from a filtered
// one. ctx must be the one that bounded the attempt. For servers that did not prove to belong to the trust domain,
// publish Told instead.
func Failure(ctx context.Context, err error) string {
	var (
		dns    *net.DNSError
		alert  tls.AlertError
		record tls.RecordHeaderError
		errno  syscall.Errno

		refused *tls.CertificateVerificationError
		denied  *Refusal
	)
	switch {
	case errors.As(err, &denied):
		return "its " + denied.Error()
	case TimedOut(ctx, err):
		return "it does not answer in time"
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return "its host name " + dns.Name + " is not known"
		}
		return "its host name " + dns.Name + " cannot be resolved"
	case errors.As(err, &alert):
		return "it refuses the handshake: " + alert.Error()
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.As(err, &refused):
		return pki.RefusalOf(refused.Err)
	case errors.As(err, &errno):
		return "it cannot be reached: " + errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closes the connection"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "remote error" {
			return "it refuses the handshake: " + op.Err.Error()
		}
		return "it cannot be reached: " + op.Err.Error()
	}
	return "the handshake fails: " + err.Error()
}

// TimedOut reports whether an attempt ran out of time, which says nothing about the server's answer.
func TimedOut(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil
}

// Refused reports whether the peer ended an established connection, by an alert or without one. ctx must be the one
// that bounded the attempt.
func Refused(ctx context.Context, err error) bool {
	if TimedOut(ctx, err) {
		return false
	}
	return Alerted(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Alerted reports whether the peer ended a connection with an alert.
func Alerted(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// Unproven is the public text for an address where no server proves to belong to the trust domain. The tenant who
// chose the address must not learn whether anything listens, answers or speaks TLS there.
const Unproven = "no server that proves to belong to this trust domain answers there; the log of the controller has the cause"

// Told returns the public description of a failure at such an address: what follows from the address and its name
// alone, or Unproven.
func Told(err error) string {
	if denied, ok := errors.AsType[*Refusal](err); ok {
		return "its " + denied.Error()
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && dns.IsNotFound:
		return "its host name " + dns.Name + " is not known"
	case ok:
		return "its host name " + dns.Name + " cannot be resolved"
	}
	return Unproven
}
