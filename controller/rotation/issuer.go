// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/issuer"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Issuer asks another controller for certificates (controller/issuer).
type Issuer interface {
	// Request asks for a new certificate in a Secret. It returns issuer.ErrPending if that was asked for before, and
	// *issuer.FailedError if the last attempt has failed.
	Request(ctx context.Context, namespace, secretName, why string) error
}

// taken reads what the issuer has delivered. Its Secret must be the one of the decision.
func (c domainContent) taken(ctx context.Context, from *trust.Issued) (*pki.Pair, error) {
	namespace := c.domain.Namespace
	secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, from.Name, metav1.GetOptions{})
	if err != nil {
		return nil, apply.Stale(err)
	}
	if secret.ResourceVersion != from.ResourceVersion || !trust.Consents(secret.Annotations, c.domain.Configuration) {
		return nil, apply.ErrStale
	}
	pair, err := inventory.ActivePair(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("read what was issued in %s/%s: %w", namespace, from.Name, err)
	}
	if pair.Certificate.Fingerprint != from.Certificate.Fingerprint {
		return nil, apply.ErrStale
	}
	return pair, nil
}

// requestIssuance asks the issuer of a domain for a certificate. The action is proposed until the certificate is there,
// so that it has a back-off of its own.
func (c *Controller) requestIssuance(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	if c.issuer == nil {
		return fmt.Errorf("%s on Secret %s/%s: this controller asks no issuer", action.Kind, k.namespace, action.Object)
	}
	start := c.clock.Now()
	err := c.issuer.Request(ctx, k.namespace, action.Object, action.Reason)
	var failed *issuer.FailedError
	switch {
	case errors.Is(err, issuer.ErrPending):
		c.refused.paused(k, action)
		c.queue.Add(k)
		return nil
	case errors.As(err, &failed):
		err = &apply.WriteError{Verb: trust.VerbIssue, Err: err}
	case err == nil:
		c.refused.paused(k, action)
		klog.FromContext(ctx).Info("Asked the issuer for a certificate", "secret", klog.KRef(k.namespace, action.Object), "why", action.Reason)
		c.emit(referenceOf(k.namespace, objectOf(action), ""), "Normal", EventIssuanceRequested, string(action.Kind),
			fmt.Sprintf("%s was asked to issue it anew: %s", d.Issuer, action.Reason))
	}
	c.metrics.observe(action.Kind, err, c.clock.Since(start))
	if err != nil && c.refuse(ctx, k, d, action, err) {
		return nil
	}
	return err
}
