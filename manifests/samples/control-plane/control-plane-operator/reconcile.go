// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/secrets"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/edition"
)

const (
	// identity of the Secrets, and the field manager of the workloads.
	identity = "control-plane-operator"
	// configuration is the RotationConfiguration of each namespace.
	configuration = "control-plane"
)

type operator struct {
	client         kubernetes.Interface
	objects        dynamic.Interface
	configurations configclient.ConfigV1alpha1Interface
	maintenance    window
}

// reconcile brings a control plane one step further. It does not wait: what is not there yet is looked for in the next
// reconciliation.
func (o *operator) reconcile(ctx context.Context, namespace string) error {
	of, err := secrets.LoadOperations(ctx, o.configurations, namespace, configuration)
	if err != nil {
		return err
	}
	now := time.Now()
	if err := of.Operate(ctx, now, o.maintenance.contains(now)); err != nil {
		return err
	}
	instance, err := secrets.New(ctx, clock.RealClock{}, o.client.CoreV1(), identity, secrets.WithNamespaces(namespace),
		secrets.WithConfiguration(configuration),
		secrets.WithGroupRotation(of.Of(edition.Authorities), authorities()...),
		secrets.WithGroupRotation(of.Of(edition.ServiceAccountKey), serviceAccountKey),
		secrets.WithGroupRotation(of.Of(edition.ETCDEncryptionKey), encryptionKey))
	if err != nil {
		return fmt.Errorf("read the secrets of %s: %w", namespace, err)
	}
	made, err := generate(ctx, instance, namespace, &of.CredentialRotations)
	if err != nil {
		return err
	}
	if err := o.composeKeys(ctx, namespace, made); err != nil {
		return err
	}
	running, err := o.deploy(ctx, namespace, made)
	if err != nil {
		return err
	}
	if err := instance.Cleanup(ctx); err != nil {
		return err
	}
	held := instance.Plan().Of(edition.Hold)
	for i := range held {
		klog.FromContext(ctx).V(1).Info("Held secret", "namespace", namespace, "step", held[i].String())
	}
	if !running {
		return nil
	}
	if err := o.register(ctx, namespace, made); err != nil {
		return err
	}
	if len(held) > 0 {
		return nil
	}
	if of.Rewrites() {
		if err := o.rewrite(ctx, namespace, made); err != nil {
			return err
		}
	}
	return of.Reconciled(ctx, time.Now())
}
