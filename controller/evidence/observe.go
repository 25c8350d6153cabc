// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// fallbackTimeout of a probe whose configuration gives none.
const fallbackTimeout = 5 * time.Second

// observe looks at a member and records what it says, if that is news. A probe that was cut short because ctx has ended
// says nothing about the member.
func (c *Collector) observe(ctx context.Context, s *subject) error {
	if s.member.Probe == nil {
		return c.observePlaced(ctx, s)
	}
	timeout := s.member.Probe.Timeout
	if timeout <= 0 {
		timeout = fallbackTimeout
	}
	probing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := c.look(probing, s)
	if err := cmp.Or(err, ended(ctx)); err != nil {
		return err
	}
	return c.record(ctx, s, c.observation(s, found))
}

// ended says whether ctx has ended. The deadline of a connection may fire a moment before that of the context it was
// taken from; what was seen then is as little the member's doing.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// look fails only if the API server cannot be asked, which says nothing about the member. What is wrong with the member
// or with the configured client leaf is part of what was found.
func (c *Collector) look(ctx context.Context, s *subject) (*sighting, error) {
	name := s.member.Probe.ClientLeaf
	if name == "" {
		return c.handshake(ctx, s.member.Probe, nil, s.d.Bundle.Anchors), nil
	}
	secret, err := c.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &sighting{failure: "the client leaf Secret/" + name + " does not exist"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read client leaf %s/%s: %w", s.namespace, name, err)
	}
	pair, err := tls.X509KeyPair(secret.Data[inventory.ActiveCertKey], secret.Data[inventory.ActiveKeyKey])
	if err != nil {
		// The error is dropped: it may repeat what it could not read.
		return &sighting{failure: "the client leaf Secret/" + name + " is no usable pair"}, nil //nolint:nilerr // see above
	}
	return c.handshake(ctx, s.member.Probe, &pair, s.d.Bundle.Anchors), nil
}

// observation is what was found, completed by what was seen before where the probe has failed.
func (c *Collector) observation(s *subject, found *sighting) *trust.Observation {
	o := &trust.Observation{
		TrustedSubjects: found.subjects, Presents: found.presents, RecoveredUntil: found.until,
		ObservedAt: c.clock.Now(), Failure: found.failure,
	}
	if before := s.member.Observation; !found.met && before != nil {
		o.Trusts, o.TrustedSubjects, o.Presents, o.RecoveredUntil = before.Trusts, before.TrustedSubjects, before.Presents, before.RecoveredUntil
	}
	return o
}
