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

// Namespace is everything that is known of one namespace which has a RotationConfiguration. It is immutable.
type Namespace struct {
	Name string
	// Configurations are the names of the RotationConfigurations, ordered.
	Configurations []string
	// Problems of the configurations themselves (object RotationConfiguration/NAME): invalid, claims that collide. A
	// configuration with a problem contributes no domains. Records that cannot be read are here too.
	Problems []trust.Problem
	// Domains ordered by configuration and then as configured.
	Domains []*trust.Domain
	// Aggregates of the configurations that have one, in the order of Configurations.
	Aggregates []*trust.Aggregate
	// Rollouts of the configurations that have one, in the order of Configurations.
	Rollouts []*Rollout
	// Copies of the configurations, in their order, with every default filled in.
	Copies []configv1alpha1.Copy
	// Quorums say how the members of etcd clusters are asked that are the pods of StatefulSets, with every default filled in. They
	// are shared and must not be changed.
	Quorums map[NamedWorkload]*configv1alpha1.Quorum

	claims map[objectKey]Claim
	// configured are the names of the domains of each configuration.
	configured map[string][]string
}

// ConfigurationKind is the kind of the object that declares trust domains. Nobody claims one.
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

// DomainsOf returns the trust domains of a configuration, as it has them; none if it has no effect.
func (n *Namespace) DomainsOf(configuration string) []*trust.Domain {
	var domains []*trust.Domain
	for _, name := range n.configured[configuration] {
		domains = append(domains, n.Domain(name))
	}
	return domains
}

// Claim says what the Secret or ConfigMap of that name is to this namespace, whether it exists or not.
func (n *Namespace) Claim(kind trust.ObjectKind, name string) (Claim, bool) {
	claim, ok := n.claims[objectKey{kind: kind, name: name}]
	return claim, ok
}

// Claim says which trust domain an object belongs to, and as what.
type Claim struct {
	// Domain is "" for aggregates, which span domains, and for copies.
	Domain string
	Kind   ClaimKind
	// Configuration is the name of the one that claims the object. Its consent is the object's own matter.
	Configuration string
}

// ClaimKind is the part that an object plays.
type ClaimKind string

// Claim kinds.
const (
	ClaimSigner    ClaimKind = "signer"
	ClaimLeaf      ClaimKind = "leaf"
	ClaimBundle    ClaimKind = "bundle"
	ClaimAggregate ClaimKind = "aggregate"
	// ClaimCopy is a copy of a bundle or leaf in the namespace of its source.
	ClaimCopy ClaimKind = "copy"
)

// Reasons of the problems that only this package finds.
const (
	// ReasonInvalidConfiguration is on a configuration that cannot be loaded.
	ReasonInvalidConfiguration trust.Reason = "InvalidConfiguration"
	// ReasonConflictingClaim is on a configuration that claims what an older one has, and on a leaf whose name is
	// taken within its own configuration.
	ReasonConflictingClaim trust.Reason = "ConflictingClaim"
	// ReasonNodesUnknown is on a configuration that is about nodes where they may not be listed.
	ReasonNodesUnknown trust.Reason = "NodesUnknown"
	// ReasonInvalidRecord is on a record that cannot be read; it proves nothing and allows nothing.
	ReasonInvalidRecord trust.Reason = "InvalidRecord"
	// ReasonInvalidStatus is on the status of a rollout that cannot be read.
	ReasonInvalidStatus trust.Reason = "InvalidRolloutStatus"
)

// Sources are the parsed facts of one namespace from which a Namespace is built. They hold no private key.
// A Sources is immutable; With* return changed copies that share the rest.
type Sources struct {
	Namespace string
	// Configurations and Records by name.
	Configurations map[string]*Configuration
	Records        map[string]*Record
	// Secrets of type kubernetes.io/tls by name.
	Secrets map[string]*Secret
	// Others are the Secrets of other types by name, aggregates among them. No name is in both.
	Others map[string]*OtherSecret
	// ConfigMaps by name: bundles, aggregates, and the bare existence of the rest.
	ConfigMaps map[string]*ConfigMap
	// Nodes of the cluster by name.
	Nodes map[string]*Node
	// NodesUnknown says that the nodes have not been listed, or may not be. None is not what there is then.
	NodesUnknown bool
	// Pods by name: those that the configurations choose as members.
	Pods map[string]*Pod
	// Selectors are those whose pods have been listed, in their canonical text.
	Selectors map[string]bool
	// Classes are the StaticPodClasses of the cluster by name.
	Classes map[string]*Class
	// ClockSkew is how far the clock of this process is off, as it has measured itself (trust.Domain.ClockSkew); nil if it
	// measures nothing and goes by what the controller has recorded.
	ClockSkew *time.Duration

	certs *pki.Cache
}

// WithSecret returns the sources as they would be with that Secret; nil means that it is deleted.
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

// WithConfigMap returns the sources as they would be with that ConfigMap; nil means that it is deleted.
func (s *Sources) WithConfigMap(name string, cm *corev1.ConfigMap) *Sources {
	out := *s
	out.ConfigMaps = maps.Clone(s.ConfigMaps)
	delete(out.ConfigMaps, name)
	if cm != nil {
		out.ConfigMaps = with(out.ConfigMaps, name, ParseConfigMap(cm, s.cache()))
	}
	return &out
}

// WithConfiguration returns the sources as they would be with that configuration; nil means that it is deleted.
func (s *Sources) WithConfiguration(name string, cfg *configv1alpha1.RotationConfiguration) *Sources {
	out := *s
	out.Configurations = maps.Clone(s.Configurations)
	delete(out.Configurations, name)
	if cfg != nil {
		out.Configurations = with(out.Configurations, name, ParseConfiguration(cfg))
	}
	return &out
}

// WithRecord returns the sources as they would be with that record; nil means that it is deleted.
func (s *Sources) WithRecord(name string, r *configv1alpha1.RotationRecord) *Sources {
	out := *s
	out.Records = maps.Clone(s.Records)
	delete(out.Records, name)
	if r != nil {
		out.Records = with(out.Records, name, ParseRecord(r))
	}
	return &out
}

// WithClockSkew returns the sources as they would be with that measurement.
func (s *Sources) WithClockSkew(skew time.Duration) *Sources {
	out := *s
	out.ClockSkew = &skew
	return &out
}

// cache is that of the Inventory the sources come from, or a new one for sources that were made by hand.
func (s *Sources) cache() *pki.Cache {
	if s.certs != nil {
		return s.certs
	}
	return pki.NewCache(1)
}

func with[V any](in map[string]V, name string, value V) map[string]V {
	if in == nil {
		in = map[string]V{}
	}
	in[name] = value
	return in
}

func sortedNames[V any](in map[string]V) []string {
	return slices.Sorted(maps.Keys(in))
}
