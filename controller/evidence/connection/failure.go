// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
)

// Failure puts the failure to connect, or to shake hands, into words. ctx is the one that bounded the attempt. The words
// are for the log: they tell a closed port from a filtered one. Whoever did not prove to belong to the trust domain is
// told of by Told.
func Failure(ctx context.Context, err error) string {
	var (
		dns    *net.DNSError
		alert  tls.AlertError
		record tls.RecordHeaderError
		errno  syscall.Errno

		refused *tls.CertificateVerificationError
		denied  *dial.Refusal
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

// TimedOut says whether an attempt has failed because its time was over, which says nothing about what would have come.
func TimedOut(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil
}

// Refused says whether the other side has ended a connection that was made: by an alert, or without a word. ctx is the one
// that bounded the attempt.
func Refused(ctx context.Context, err error) bool {
	if TimedOut(ctx, err) {
		return false
	}
	return Alerted(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Alerted says whether the other side has ended a connection by an alert.
func Alerted(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// Unproven is all that is told of an address where nobody has proven to belong to the trust domain. Whether nobody listens,
// nobody answers, somebody speaks something else or is somebody else is not for those to know who chose the address.
const Unproven = "nobody who proves to belong to this trust domain answers there; the log of the controller says what was met"

// Told is what may be told of a failure, at an address where nobody has proven to belong to the trust domain: what follows
// from the address and its name alone, or Unproven.
func Told(err error) string {
	if denied, ok := errors.AsType[*dial.Refusal](err); ok {
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
