// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Namespace is the derived state of one namespace that has a RotationConfiguration. It is immutable.
type Namespace struct {
	Name string
	// Configurations are the names of the RotationConfigurations, ordered.
	Configurations []string
	// Problems of the configurations themselves (object RotationConfiguration/NAME), such as an invalid one or
	// colliding claims, and of unreadable records. A configuration with a problem contributes no domains.
	Problems []trust.Problem
	// Domains ordered by configuration and then as configured.
	Domains []*trust.Domain
	// Aggregates of the configurations that have one, in the order of Configurations.
	Aggregates []*trust.Aggregate
	// Rollouts of the configurations that have one, in the order of Configurations.
	Rollouts []*Rollout
	// Copies of the configurations, in their order, with every default filled in.
	Copies []configv1alpha1.Copy
	// Clusters are the other clusters of the configurations, by name.
	Clusters map[string]*Cluster
	// Quorums are how the controller queries the members of etcd clusters that are pods of StatefulSets, with every
	// default filled in. They are shared and read-only.
	Quorums map[NamedWorkload]*configv1alpha1.Quorum

	sources *Sources
	records map[string]*domainRecords
	// claims of all configurations, and which of them are of leaves that no configuration names.
	claims  map[objectKey]Claim
	unnamed map[objectKey]bool
	// editions are the claims of editions by what their labels say.
	editions map[editionKey]Claim
	// configured are the names of the domains of each configuration.
	configured map[string][]string
}

// ConfigurationKind is the kind of the object that declares trust domains. It cannot be claimed.
const ConfigurationKind trust.ObjectKind = configv1alpha1.Kind

type objectKey struct {
	kind trust.ObjectKind
	name string
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

// DomainsOf returns the trust domains of a configuration in its order; none if the configuration has no effect.
func (n *Namespace) DomainsOf(configuration string) []*trust.Domain {
	var domains []*trust.Domain
	for _, name := range n.configured[configuration] {
		domains = append(domains, n.Domain(name))
	}
	return domains
}

// Claim returns how this namespace uses a Secret or ConfigMap, whether that exists or not.
func (n *Namespace) Claim(kind trust.ObjectKind, name string) (Claim, bool) {
	claim, ok := n.claims[objectKey{kind: kind, name: name}]
	return claim, ok
}

// Claim is the trust domain that an object belongs to, and its role there.
type Claim struct {
	// Domain is "" for aggregates, which span domains, and for copies.
	Domain string
	Kind   ClaimKind
	// Configuration is the name of the claiming configuration. A claim does not imply the object's consent.
	Configuration string
	// Edition says that the claim follows from the labels of the object, not from its name.
	Edition bool
}

// ClaimKind is the role of an object.
type ClaimKind string

// Claim kinds.
const (
	ClaimSigner    ClaimKind = "signer"
	ClaimLeaf      ClaimKind = "leaf"
	ClaimBundle    ClaimKind = "bundle"
	ClaimAggregate ClaimKind = "aggregate"
	// ClaimIssued is what another issuer delivers.
	ClaimIssued ClaimKind = "issued"
	// ClaimKubeconfig has the kubeconfig of another cluster.
	ClaimKubeconfig ClaimKind = "kubeconfig"
	// ClaimCluster is the name of another cluster, which is unique in the namespace.
	ClaimCluster ClaimKind = "cluster"
	// ClaimCopy is a copy of a bundle or leaf in the namespace of its source.
	ClaimCopy ClaimKind = "copy"
)

// Reasons of problems that only this package finds.
const (
	// ReasonInvalidConfiguration is on a configuration that cannot be loaded.
	ReasonInvalidConfiguration trust.Reason = "InvalidConfiguration"
	// ReasonOperationRefused is on a configuration that is asked for an operation that is not possible now.
	ReasonOperationRefused trust.Reason = "OperationRefused"
	// ReasonConflictingClaim is on a configuration that claims what an older one has, and on a leaf whose name is
	// taken within its own configuration.
	ReasonConflictingClaim trust.Reason = "ConflictingClaim"
	// ReasonNodesUnknown is on a configuration that depends on nodes if nodes may not be listed.
	ReasonNodesUnknown trust.Reason = "NodesUnknown"
	// ReasonInvalidRecord is on a record that cannot be read. It proves and allows nothing.
	ReasonInvalidRecord trust.Reason = "InvalidRecord"
	// ReasonInvalidStatus is on the status of a rollout that cannot be read.
	ReasonInvalidStatus trust.Reason = "InvalidRolloutStatus"
)

// Sources are the parsed facts of one namespace, from which Build derives a Namespace. They hold no private key. A
// Sources is immutable; With* return changed copies that share the rest.
type Sources struct {
	Namespace string
	// Configurations and Records by name.
	Configurations map[string]*Configuration
	Records        map[string]*Record
	// Secrets of type kubernetes.io/tls by name.
	Secrets map[string]*Secret
	// Others are the Secrets of other types by name, including aggregates. No name is in both Secrets and Others.
	Others map[string]*OtherSecret
	// ConfigMaps by name: bundles, aggregates, and the bare existence of the rest.
	ConfigMaps map[string]*ConfigMap
	// Nodes of the cluster by name.
	Nodes map[string]*Node
	// NodesUnknown is true if the nodes were not listed or may not be. Empty Nodes then does not mean that there are
	// none.
	NodesUnknown bool
	// Pods by name: those that the configurations select as members.
	Pods map[string]*Pod
	// Selectors are the canonical texts of the selectors whose pods were listed.
	Selectors map[string]bool
	// Classes are the StaticPodClasses of the cluster by name.
	Classes map[string]*Class
	// ClockSkew is what this process measured of its own clock (trust.Domain.ClockSkew). Nil if it does not measure:
	// then the skew that the controller recorded applies.
	ClockSkew *time.Duration

	certs *pki.Cache
}

// WithSecret returns a copy with that Secret; nil deletes it.
func (s *Sources) WithSecret(name string, secret *corev1.Secret) *Sources {
	out := *s
	out.Secrets, out.Others = maps.Clone(s.Secrets), maps.Clone(s.Others)
	delete(out.Secrets, name)
	delete(out.Others, name)
	switch {
	case secret == nil:
	case secret.Type == corev1.SecretTypeTLS:
		out.Secrets = with(out.Secrets, name, ParseSecret(secret, s.cache()))
	default:
		out.Others = with(out.Others, name, ParseOtherSecret(secret, s.cache()))
	}
	return &out
}

// WithConfigMap returns a copy with that ConfigMap; nil deletes it.
func (s *Sources) WithConfigMap(name string, cm *corev1.ConfigMap) *Sources {
	out := *s
	out.ConfigMaps = maps.Clone(s.ConfigMaps)
	delete(out.ConfigMaps, name)
	if cm != nil {
		out.ConfigMaps = with(out.ConfigMaps, name, ParseConfigMap(cm, s.cache()))
	}
	return &out
}

// WithConfiguration returns a copy with that configuration; nil deletes it.
func (s *Sources) WithConfiguration(name string, cfg *configv1alpha1.RotationConfiguration) *Sources {
	out := *s
	out.Configurations = maps.Clone(s.Configurations)
	delete(out.Configurations, name)
	if cfg != nil {
		out.Configurations = with(out.Configurations, name, ParseConfiguration(cfg))
	}
	return &out
}

// WithRecord returns a copy with that record; nil deletes it.
func (s *Sources) WithRecord(name string, r *configv1alpha1.RotationRecord) *Sources {
	out := *s
	out.Records = maps.Clone(s.Records)
	delete(out.Records, name)
	if r != nil {
		out.Records = with(out.Records, name, ParseRecord(r))
	}
	return &out
}

// WithClockSkew returns a copy with that measurement.
func (s *Sources) WithClockSkew(skew time.Duration) *Sources {
	out := *s
	out.ClockSkew = &skew
	return &out
}

// cache returns the cache of the Inventory that made the sources, or a new one for sources made by hand.
func (s *Sources) cache() *pki.Cache {
	if s.certs != nil {
		return s.certs
	}
	return pki.NewCache(1)
}

func with[K comparable, V any](in map[K]V, name K, value V) map[K]V {
	if in == nil {
		in = map[K]V{}
	}
	in[name] = value
	return in
}

func sortedNames[V any](in map[string]V) []string {
	return slices.Sorted(maps.Keys(in))
}
