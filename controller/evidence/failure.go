// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// describe puts the failure of a connection into words that are the same at each attempt: the texts of package net hold
// local ports, which would make every attempt news.
func describe(ctx context.Context, err error) string {
	var (
		dns    *net.DNSError
		alert  tls.AlertError
		record tls.RecordHeaderError
		errno  syscall.Errno
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), ctx.Err() != nil:
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
	case errors.As(err, &errno):
		return "it cannot be reached: " + errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closes the connection during the handshake"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "it cannot be reached: " + op.Err.Error()
	}
	return "the handshake fails: " + err.Error()
}

// verification puts the refusal of a chain into words, "" for none. The texts of crypto/x509 hold the current time or
// lists of names, which make them long or new at each attempt.
func verification(err error) string {
	var (
		invalid x509.CertificateInvalidError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return "it presents a certificate that chains to no anchor of the bundle"
	case errors.As(err, &host):
		return "it presents a certificate that is not for the name " + host.Host
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it presents a certificate that is expired or not valid yet"
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return "it presents a certificate that is not for servers"
	}
	return "it presents a certificate that cannot be verified"
}
