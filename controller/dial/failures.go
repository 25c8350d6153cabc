// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"k8s.io/component-base/metrics"
)

// Registry is where metrics are registered, such as a metrics.KubeRegistry.
type Registry interface {
	MustRegister(metrics ...metrics.Registerable)
}

// Failures counts failed connections by cause. It may be nil and is safe for concurrent use.
type Failures struct{ total *metrics.CounterVec }

// NewFailures returns an unregistered counter.
func NewFailures() *Failures {
	return &Failures{total: metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "certrotation", Name: "connections_failed_total", StabilityLevel: metrics.ALPHA,
		Help: "Connections to relying parties and members of etcd that failed, by cause: denied, resolution, timeout, alert, notTLS, " +
			"certificate, closed, refused, unreachable or other. Denied means that the address is not dialled.",
	}, []string{"cause"})}
}

// Register registers the metric.
func (f *Failures) Register(r Registry) { r.MustRegister(f.total) }

// Count counts a failure. ctx must be the one that bounded the attempt.
func (f *Failures) Count(ctx context.Context, err error) {
	if f != nil {
		f.total.WithLabelValues(cause(ctx, err)).Inc()
	}
}

func cause(ctx context.Context, err error) string {
	var (
		denied  *Refusal
		dns     *net.DNSError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		refused *tls.CertificateVerificationError
		errno   syscall.Errno
	)
	switch {
	case errors.As(err, &denied):
		return "denied"
	case errors.As(err, &dns):
		return "resolution"
	case TimedOut(ctx, err):
		return "timeout"
	case errors.As(err, &alert), Alerted(err):
		return "alert"
	case errors.As(err, &record):
		return "notTLS"
	case errors.As(err, &refused):
		return "certificate"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.As(err, &errno):
		return "unreachable"
	}
	return "other"
}
