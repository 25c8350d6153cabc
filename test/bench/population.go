// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

const (
	// perNamespace is how many certificates a populated namespace has: a signer and its leaves.
	perNamespace = 100
	// writers is how many Secrets are written concurrently.
	writers = 32
)

// populate writes namespaces until they hold the given number of certificates, as the controller would have left
// them. It skips the first have namespaces. The controller should not run meanwhile.
func (b *bench) populate(ctx context.Context, have, certificates int) error {
	begun := time.Now()
	for i := have; i < certificates/perNamespace; i++ {
		if err := b.fill(ctx, newDomain(fmt.Sprintf("bench-%04d", i), pki.ECDSAP256, perNamespace-1)); err != nil {
			return err
		}
	}
	b.say("wrote up to %d certificates in %.0f s", certificates, time.Since(begun).Seconds())
	return nil
}

// fill writes one domain. It writes the configuration last, because the controller ignores the other objects until
// then.
func (b *bench) fill(ctx context.Context, d *domain) error {
	if err := d.makeAuthority(); err != nil {
		return err
	}
	if err := b.createNamespace(ctx, d); err != nil {
		return err
	}
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	group.Go(func() error {
		signer, err := d.signer()
		if err != nil {
			return err
		}
		return b.createSecret(parallel, signer)
	})
	for _, name := range d.leaves {
		group.Go(func() error {
			secret, err := d.issue(name)
			if err != nil {
				return err
			}
			return b.createSecret(parallel, secret)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("fill namespace %s: %w", d.namespace, err)
	}
	if err := b.createConfigMap(ctx, d.bundle()); err != nil {
		return err
	}
	if err := b.enroll(ctx, d); err != nil {
		return err
	}
	return b.configure(ctx, d)
}

func (b *bench) configure(ctx context.Context, d *domain) error {
	if _, err := b.rotations.ConfigV1alpha1().RotationConfigurations(d.namespace).Create(ctx, d.configuration(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create rotationconfiguration %s/%s: %w", d.namespace, configName, err)
	}
	return nil
}

func (b *bench) enroll(ctx context.Context, d *domain) error {
	roster, err := d.roster()
	if err != nil {
		return err
	}
	if _, err := b.controller.ConfigV1alpha1().RotationRecords(d.namespace).Create(ctx, roster, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create rotationrecord %s/%s: %w", d.namespace, roster.Name, err)
	}
	return nil
}

func (b *bench) createNamespace(ctx context.Context, d *domain) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: d.namespace, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue},
	}}
	if _, err := b.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", d.namespace, err)
	}
	return nil
}

func (b *bench) createSecret(ctx context.Context, secret *corev1.Secret) error {
	if _, err := b.kube.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

func (b *bench) createConfigMap(ctx context.Context, cm *corev1.ConfigMap) error {
	if _, err := b.kube.CoreV1().ConfigMaps(cm.Namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create configmap %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	return nil
}
