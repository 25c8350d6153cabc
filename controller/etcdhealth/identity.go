// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// identity reads what a client of the members needs, from the API server itself.
func (c *Checker) identity(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum) (*tls.Config, error) {
	secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, q.ClientLeaf, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read client leaf of the quorum check Secret %s/%s: %w", namespace, q.ClientLeaf, err)
	}
	if !trust.Consents(secret.Annotations, configuration) {
		return nil, unadopted("client leaf of the quorum check Secret", namespace, q.ClientLeaf, configuration)
	}
	leaf, err := inventory.ActivePair(secret.Data)
	if err != nil {
		return nil, fmt.Errorf(
			"client leaf of the quorum check Secret %s/%s is no usable pair: %w; delete it to have it issued anew", namespace, q.ClientLeaf, err)
	}
	pair, err := connection.Certificate(leaf)
	if err != nil {
		return nil, fmt.Errorf("present the client leaf of the quorum check Secret %s/%s: %w", namespace, q.ClientLeaf, err)
	}
	bundle, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, q.BundleConfigMapName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read bundle of the quorum check ConfigMap %s/%s: %w", namespace, q.BundleConfigMapName, err)
	}
	if !trust.Consents(bundle.Annotations, configuration) {
		return nil, unadopted("bundle of the quorum check ConfigMap", namespace, q.BundleConfigMapName, configuration)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(bundle.Data[inventory.BundleKey])) {
		return nil, fmt.Errorf("bundle of the quorum check ConfigMap %s/%s has no certificate under %s; delete it to have it rebuilt",
			namespace, q.BundleConfigMapName, inventory.BundleKey)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, Time: c.clock.Now,
		// Presented to a member that does not accept its CA as well, which then says what is wrong with it.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}, nil
}

// unadopted is the error about an object that does not consent to the configuration that names it.
func unadopted(what, namespace, name, configuration string) error {
	return fmt.Errorf("%s %s/%s does not consent to RotationConfiguration/%s: run `kubectl certrotation adopt -n %s %s`",
		what, namespace, name, configuration, namespace, configuration)
}
