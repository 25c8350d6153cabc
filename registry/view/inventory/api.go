// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Namespace is everything that is known of one namespace which has a RotationConfiguration.
type Namespace struct {
	Name string
	// Configurations are the names of the ConfigMaps that hold a RotationConfiguration, ordered.
	Configurations []string
	// Problems of the configurations themselves (object ConfigMap/NAME): unparsable, invalid, claims that collide. A
	// configuration with a problem contributes no domains.
	Problems []trust.Problem
	// Domains ordered by configuration and then as configured.
	Domains []*trust.Domain
	// Aggregates of the configurations that have one, in the order of Configurations.
	Aggregates []*trust.Aggregate
}

// Domain returns the trust domain of that name, nil if there is none.
func (n *Namespace) Domain(name string) *trust.Domain {
	for _, d := range n.Domains {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Sources are the parsed facts of one namespace from which a Namespace is built. They hold no private key.
// A Sources is immutable; With* return changed copies that share the rest.
type Sources struct {
	Namespace string
	// Secrets of type kubernetes.io/tls by name.
	Secrets map[string]*Secret
	// Others are the names of Secrets of other types; the value is nil unless the Secret is an aggregate.
	Others map[string]*AggregateSecret
	// ConfigMaps by name: configurations, bundles, aggregates, evidence records, and the bare existence of the rest.
	ConfigMaps map[string]*ConfigMap
	// Nodes of the cluster by name.
	Nodes map[string]*Node
}

// Claim says which trust domain an object belongs to, and as what.
type Claim struct {
	Domain string
	Kind   ClaimKind
}

// ClaimKind is the part that an object plays.
type ClaimKind string

// Claim kinds.
const (
	ClaimSigner        ClaimKind = "signer"
	ClaimLeaf          ClaimKind = "leaf"
	ClaimBundle        ClaimKind = "bundle"
	ClaimAggregate     ClaimKind = "aggregate"
	ClaimConfiguration ClaimKind = "configuration"
	ClaimEvidence      ClaimKind = "evidence"
)

var _ = configv1alpha1.ConfigLabel
