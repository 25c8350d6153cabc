// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// addUnnamed adds to each domain the existing leaves that no configuration names any more. A process may present
// them, so they count until they are released by name or deleted.
func (b *builder) addUnnamed(domains []*trust.Domain) {
	var unclaimed []*Secret
	for _, name := range sortedNames(b.sources.Secrets) {
		secret := b.sources.Secrets[name]
		if _, claimed := b.claims[objectKey{kind: trust.SecretKind, name: name}]; !claimed && !isCopy(secret) {
			unclaimed = append(unclaimed, secret)
		}
	}
	if len(unclaimed) == 0 {
		return
	}
	for _, d := range domains {
		authorities := authoritiesOf(d)
		for _, secret := range unclaimed {
			if !slices.Contains(d.Released, secret.Name) && !repeats(secret, d) && belongs(secret, d, authorities) {
				d.Leaves = append(d.Leaves, unnamed(secret, d.Configuration))
				b.claimUnnamed(d, secret.Name)
			}
		}
		slices.SortFunc(d.Leaves, func(x, y trust.Leaf) int { return cmp.Compare(x.Name, y.Name) })
	}
}

// keepUnnamed keeps in an aggregate the pairs of leaves that count although the configuration does not name them. A
// process that reads its leaf there could not start without it.
func keepUnnamed(aggregate *trust.Aggregate, domains []*trust.Domain) {
	for _, d := range domains {
		abandoned := trust.Abandoned(d)
		for i := range d.Leaves {
			name := d.Leaves[i].Name
			if _, aggregated := aggregate.Pairs[name]; !aggregated || !d.Leaves[i].Unnamed || abandoned[name] ||
				!trust.Consents(d.Leaves[i].Annotations, d.Configuration) {
				continue
			}
			cert, key := AggregateKeys(name)
			aggregate.Leaves = append(aggregate.Leaves, name)
			aggregate.Foreign = slices.DeleteFunc(aggregate.Foreign, func(entry string) bool { return entry == cert || entry == key })
		}
	}
	slices.Sort(aggregate.Leaves)
}

// claimUnnamed assigns a leaf that several domains count to the first of them.
func (b *builder) claimUnnamed(d *trust.Domain, name string) {
	key := objectKey{kind: trust.SecretKind, name: name}
	if _, claimed := b.claims[key]; !claimed {
		b.claims[key] = Claim{Domain: d.Name, Kind: ClaimLeaf, Configuration: d.Configuration}
		b.unnamed = with(b.unnamed, key, true)
	}
}

func isCopy(secret *Secret) bool {
	_, labelled := secret.Labels[trust.LabelCopyOf]
	_, annotated := secret.Annotations[trust.AnnotationCopyOf]
	return labelled || annotated
}

// repeats reports whether a Secret has the certificate of a leaf that the configuration names. Pods mount such
// Secrets under a name of their content, and present that leaf. When the leaf is reissued, the old content counts by
// itself.
func repeats(secret *Secret, d *trust.Domain) bool {
	certificate := first(secret.Active.Certificates)
	return certificate != nil && slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool {
		return !l.Unnamed && l.Certificate != nil && l.Certificate.Fingerprint == certificate.Fingerprint
	})
}

// belongs reports whether an unclaimed Secret is a leaf of the domain: by its label, by the roster, or because a CA
// of the domain signed its certificate. A self-signed CA is no leaf, even if a Secret has a copy of it.
//
// Without consent, a Secret is a leaf of the domain only if the domain's own signer signed it. Users without
// authority over the Secret may write a label, a name or an anchor.
func belongs(secret *Secret, d *trust.Domain, authorities []*pki.Certificate) bool {
	if !trust.Consents(secret.Annotations, d.Configuration) {
		return isLeafOf(secret, generationsOf(d))
	}
	if secret.Labels[trust.LabelTrustDomain] == d.Name && secret.Labels[trust.LabelManagedType] == trust.ManagedTypeTarget {
		return true
	}
	if d.Roster != nil {
		if _, recorded := slices.BinarySearch(d.Roster.Leaves, secret.Name); recorded {
			return true
		}
	}
	// What an issuer delivers is presented by nothing. It has no label of ours, unlike what was taken.
	return d.Issuer == "" && isLeafOf(secret, authorities)
}

func isLeafOf(secret *Secret, authorities []*pki.Certificate) bool {
	certificate := first(secret.Active.Certificates)
	if certificate == nil || certificate.IsCA && certificate.SignedBy(certificate) {
		return false
	}
	return slices.ContainsFunc(authorities, certificate.SignedBy)
}

// authoritiesOf returns the CAs of the slots and of the bundle of a domain.
func authoritiesOf(d *trust.Domain) []*pki.Certificate {
	return pki.Distinct(slices.Concat(generationsOf(d), d.Bundle.Anchors))
}

// generationsOf returns the CAs of the slots.
func generationsOf(d *trust.Domain) []*pki.Certificate {
	return slices.Concat(one(d.Signer.Active), one(d.Signer.Next), d.Signer.Previous)
}

// unnamed reads a leaf that is not issued. Of its policy only the current names are known. Without consent to the
// configuration, only its certificate is known.
func unnamed(secret *Secret, configuration string) trust.Leaf {
	out := trust.Leaf{Object: secret.object(), Unnamed: true}
	if trust.Consents(secret.Annotations, configuration) {
		readLeaf(&out, secret)
	} else {
		out.Object = trust.Existence(&out.Object)
		out.Certificate = first(secret.Active.Certificates)
	}
	if c := out.Certificate; c != nil {
		out.Policy.Profile = pki.Profile{
			CommonName: c.CommonName, DNSNames: slices.Clone(c.DNSNames), IPAddresses: slices.Clone(c.IPAddresses), Identities: c.Identities,
		}
	}
	return out
}
