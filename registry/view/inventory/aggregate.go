// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// aggregate reads the aggregate Secret and ConfigMap. leaves maps a template to the names of its leaves.
//
// Content is known only with the label trust.LabelAggregate. An object without it counts as empty, and the first
// write labels it.
func (b *builder) aggregate(p *part, cfg *configv1alpha1.Aggregate, leaves map[string][]string) *trust.Aggregate {
	out := &trust.Aggregate{
		Configuration: p.configuration,

		Secret:    trust.Object{Name: cfg.SecretName},
		ConfigMap: trust.Object{Name: cfg.ConfigMapName},
		Pairs:     map[string]pki.Fingerprint{},
		Anchors:   map[string][]pki.Fingerprint{},
	}
	for _, template := range cfg.Leaves {
		out.Leaves = append(out.Leaves, leaves[template]...)
	}
	slices.Sort(out.Leaves)
	for _, bundle := range cfg.Bundles {
		out.Bundles = append(out.Bundles, trust.AggregatedBundle{Key: bundle.Key, Bundle: bundle.ConfigMapName})
	}
	slices.SortFunc(out.Bundles, func(x, y trust.AggregatedBundle) int { return cmp.Compare(x.Key, y.Key) })
	b.readAggregateSecret(p, out)
	b.readAggregateConfigMap(p, out)
	return out
}

func (b *builder) readAggregateSecret(p *part, out *trust.Aggregate) {
	name := out.Secret.Name
	if secret := b.sources.Secrets[name]; secret != nil {
		out.Secret = secret.object()
		if !b.adopted(p, trust.SecretKind, &out.Secret) {
			return
		}
		out.Secret.Problem = problemOf(trust.SecretKind, name, trust.ReasonWrongType,
			"it is of type kubernetes.io/tls, want Opaque; delete it or rename it in the configuration")
		return
	}
	other := b.sources.Others[name]
	if other == nil {
		return
	}
	out.Secret = other.object()
	if !b.adopted(p, trust.SecretKind, &out.Secret) || other.Aggregate == nil {
		return
	}
	out.Pairs = other.Aggregate.Pairs
	belongs := map[string]bool{}
	for _, leaf := range out.Leaves {
		cert, key := AggregateKeys(leaf)
		belongs[cert], belongs[key] = true, true
	}
	out.Foreign = append(out.Foreign, foreign(other.Aggregate.Keys, belongs)...)
}

func (b *builder) readAggregateConfigMap(p *part, out *trust.Aggregate) {
	cm := b.sources.ConfigMaps[out.ConfigMap.Name]
	if cm == nil {
		return
	}
	out.ConfigMap = cm.object()
	if !b.adopted(p, trust.ConfigMapKind, &out.ConfigMap) || cm.Aggregate == nil {
		return
	}
	out.Anchors = cm.Aggregate
	belongs := map[string]bool{}
	for _, bundle := range out.Bundles {
		belongs[bundle.Key] = true
	}
	out.Foreign = append(out.Foreign, foreign(sortedNames(cm.Aggregate), belongs)...)
}

func foreign(keys []string, belongs map[string]bool) []string {
	var out []string
	for _, key := range keys {
		if !belongs[key] {
			out = append(out, key)
		}
	}
	return out
}
