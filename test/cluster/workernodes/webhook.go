// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	// WebhookNamespace is the namespace of manifests/samples/webhook-server.
	WebhookNamespace = "webhook-demo"
	// Caller is the program whose requests make kube-apiserver call the webhook.
	Caller = "caller"
)

const someParcel = `apiVersion: example.com/v1
kind: Parcel
metadata: {name: some, namespace: webhook-demo}
spec: {weight: 1}
`

// InstallWebhook applies the sample webhook-server. Once the webhook answers, it starts Caller with the flags. The
// sample counts in InstallSample's totals.
func (c *Cluster) InstallWebhook(ctx context.Context, flags ...string) error {
	if _, err := c.Kubectl(ctx, "apply", "-k", filepath.Join(c.root, "manifests", "samples", "webhook-server")); err != nil {
		return err
	}
	if err := c.WaitReady(ctx, installation.Expected{WebhookNamespace: 2}); err != nil {
		return err
	}
	if err := c.waitDeployments(ctx, WebhookNamespace, "parcels"); err != nil {
		return err
	}
	file := c.path("parcel.yaml")
	if err := os.WriteFile(file, []byte(someParcel), 0o600); err != nil {
		return fmt.Errorf("write a parcel: %w", err)
	}
	err := cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, func(ctx context.Context) error {
		_, err := c.Kubectl(ctx, "create", "--dry-run=server", "-f", file)
		return err
	})
	if err != nil {
		return fmt.Errorf("wait until the webhook is called: %w", err)
	}
	if err := c.startWitness(ctx, Caller, Caller, WebhookNamespace, flags...); err != nil {
		return err
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s runs in namespace %s\n", "samples/webhook-server", WebhookNamespace)
	return nil
}
