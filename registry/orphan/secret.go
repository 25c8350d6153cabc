// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// secret decides about one Secret of type kubernetes.io/tls. It never touches a Secret that does not consent to any
// configuration.
func (d *decider) secret(secret *inventory.Secret) {
	if !slices.ContainsFunc(d.namespace.Configurations, func(name string) bool { return trust.Consents(secret.Annotations, name) }) {
		return
	}
	if claim, claimed := d.namespace.Claim(trust.SecretKind, secret.Name); claimed && !d.unnamed(claim, secret.Name) {
		if claim.Kind == inventory.ClaimLeaf {
			d.back(trust.SecretKind, &secret.ObjectMeta)
		}
		return
	}
	owners := d.owners(secret.Name)
	if slices.ContainsFunc(owners, func(o owner) bool { return o.template.nodes[o.node] }) {
		// The name fits two nodes, and nothing shows for which of them the Secret was made.
		d.back(trust.SecretKind, &secret.ObjectMeta)
		return
	}
	leaf := leafIn(secret)
	if leaf == nil {
		return
	}
	owners = slices.DeleteFunc(owners, func(o owner) bool { return !belongs(secret, leaf, o.template.domain) })
	if len(owners) == 0 || slices.ContainsFunc(owners, func(o owner) bool { return len(o.template.nodes) == 0 }) {
		return
	}
	d.gone(trust.SecretKind, &secret.ObjectMeta, fmt.Sprintf("node %s, whose leaf this is,", owners[0].node), func() bool {
		return d.presented(leaf.Fingerprint) || slices.ContainsFunc(owners, func(o owner) bool {
			return counted(o.template.domain, func(m trust.RosterMember) bool { return slices.Contains(m.Presents, secret.Name) }) ||
				d.unrest(o.template.domain)
		})
	})
}

// owner is a node for which a Secret may have been made.
type owner struct {
	template *template
	node     string
}

// owners returns all nodes, existing or not, for which a template makes this name.
func (d *decider) owners(name string) []owner {
	var out []owner
	for i := range d.templates {
		if node, ok := d.templates[i].nodeOf(name); ok {
			out = append(out, owner{template: &d.templates[i], node: node})
		}
	}
	return out
}

// leafIn returns the leaf of a Secret that certrotation or library-go made, nil if it holds none.
func leafIn(secret *inventory.Secret) *pki.Certificate {
	if secret.Labels[trust.LabelManagedType] != trust.ManagedTypeTarget || len(secret.Active.Certificates) == 0 ||
		!secret.Next.Empty() || !secret.Previous.Empty() {
		return nil
	}
	if leaf := secret.Active.Certificates[0]; !leaf.IsCA {
		return leaf
	}
	return nil
}

// belongs reports whether a leaf is of a trust domain. Its Secret must consent to the configuration, and its label
// must name the domain. Without a label, the signer of the leaf must be the domain's.
func belongs(secret *inventory.Secret, leaf *pki.Certificate, domain *trust.Domain) bool {
	if !trust.Consents(secret.Annotations, domain.Configuration) {
		return false
	}
	if name, ok := secret.Labels[trust.LabelTrustDomain]; ok {
		return name == domain.Name
	}
	if pki.IsGenerationOf(leaf.IssuerCommonName, domain.Namespace, domain.Signer.Name) {
		return true
	}
	return slices.ContainsFunc(append([]*pki.Certificate{domain.Signer.Active}, domain.Bundle.Anchors...), func(ca *pki.Certificate) bool {
		return ca != nil && leaf.SignedBy(ca)
	})
}

// presented reports whether any existing member was observed to present a leaf.
func (d *decider) presented(leaf pki.Fingerprint) bool {
	for _, domain := range d.namespace.Domains {
		for i := range domain.Parties {
			for j := range domain.Parties[i].Members {
				seen := domain.Parties[i].Members[j].Observations
				if slices.ContainsFunc(seen, func(o trust.Observation) bool { return slices.Contains(o.Presents, leaf) }) {
					return true
				}
			}
		}
	}
	return false
}

// unnamed reports whether a Secret is claimed only because it exists and holds a leaf: no configuration names it.
func (d *decider) unnamed(claim inventory.Claim, name string) bool {
	domain := d.namespace.Domain(claim.Domain)
	return domain != nil && slices.ContainsFunc(domain.Leaves, func(l trust.Leaf) bool { return l.Unnamed && l.Name == name })
}

// counted reports whether the roster has a member, selected by is, that the configuration no longer names. Such a
// member is not proven gone and may still run.
func counted(domain *trust.Domain, is func(trust.RosterMember) bool) bool {
	return slices.ContainsFunc(trust.Missing(domain), is)
}
