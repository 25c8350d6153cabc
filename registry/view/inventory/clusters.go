// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Cluster is another cluster that receives copies.
type Cluster struct {
	Name string
	// Configuration that declares it, to which the Secret must consent.
	Configuration string
	// SecretName of the kubeconfig, and its resource version, "" if it does not exist.
	SecretName, Version string
}

// clusterKind is for claims alone: there is no such object.
const clusterKind trust.ObjectKind = "Cluster"

// clusters collects the other clusters, and claims their names and the Secrets with their kubeconfigs.
func (b *builder) clusters(p *part, cfg *configv1alpha1.RotationConfigurationSpec) error {
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		if !p.claim(clusterKind, c.Name, Claim{Kind: ClaimCluster}) {
			return fmt.Errorf("clusters: %s is there twice", c.Name)
		}
		if !p.claim(trust.SecretKind, c.KubeconfigSecretName, Claim{Kind: ClaimKubeconfig}) {
			return fmt.Errorf("clusters: %s is claimed twice", objectName(trust.SecretKind, c.KubeconfigSecretName))
		}
		out := &Cluster{Name: c.Name, Configuration: p.configuration, SecretName: c.KubeconfigSecretName}
		if other := b.sources.Others[out.SecretName]; other != nil {
			out.Version = other.ResourceVersion
		} else if secret := b.sources.Secrets[out.SecretName]; secret != nil {
			out.Version = secret.ResourceVersion
		}
		p.clusters = append(p.clusters, out)
	}
	return nil
}
