// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
)

// Reconcile looks once at a trust domain, or, with an empty domain, at the namespace as a whole, as a worker would. It
// is for whoever decides by itself what happens when, as test/simulation does; everybody else calls Run. The error is
// what a worker would retry for.
func (c *Controller) Reconcile(ctx context.Context, namespace, domain string) error {
	return c.safely(ctx, key{namespace: namespace, domain: domain})
}

// ReconcileStatuses is Reconcile for the statuses of the configurations of a namespace.
func (c *Controller) ReconcileStatuses(ctx context.Context, namespace string) error {
	return c.safely(ctx, key{namespace: namespace, status: true})
}
