// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// expandedLeaf is a leaf with the keys that relying parties select it by.
type expandedLeaf struct {
	leaf *trust.Leaf
	cfg  *configv1alpha1.Leaf
	// node is "" for a leaf that exists once.
	node string
}

// leaves expands the leaves of a domain, ordered by name. A leaf that cannot be built is left out, with a problem,
// and does not affect the others. If its Secret exists, it stays with its current names, because a process may
// present it.
func (b *builder) leaves(p *part, domain *configv1alpha1.TrustDomain) ([]expandedLeaf, []trust.Problem, error) {
	var (
		leaves    []expandedLeaf
		problems  []trust.Problem
		addresses = unaddressed{}
	)
	for i := range domain.Leaves {
		cfg := &domain.Leaves[i]
		nodes := []*Node{nil}
		if cfg.ForEachNode != nil {
			var err error
			if nodes, err = b.selected(cfg.ForEachNode); err != nil {
				return nil, nil, fmt.Errorf("leaf %s: %w", cfg.SecretName, err)
			}
		}
		leaves = slices.Grow(leaves, len(nodes))
		for _, node := range nodes {
			name := nameFor(cfg.SecretName, node)
			if node != nil {
				own := b.owns(p, name, cfg.SecretName, node)
				if problem := p.claimNodeLeaf(domain.Name, name, node, own); problem != nil {
					problems = append(problems, *problem)
					continue
				}
				p.addNodeLeaf(node.Name, cfg.SecretName, name)
			}
			leaf, fault := b.leafOf(p, domain, name, cfg, node)
			switch {
			case fault == nil:
			case node != nil && cfg.NodeAddresses && len(node.Addresses) == 0:
				addresses.add(node, name, leaf.Present)
			default:
				problems = append(problems, *problemOf(trust.SecretKind, name, ReasonInvalidConfiguration,
					fmt.Sprintf("it cannot be issued: %v; change the leaf %s in the configuration", fault, cfg.SecretName)))
			}
			if fault == nil || leaf.Present {
				leaves = append(leaves, expandedLeaf{leaf: leaf, cfg: cfg, node: nodeName(node)})
			}
		}
	}
	slices.SortFunc(leaves, func(x, y expandedLeaf) int { return cmp.Compare(x.leaf.Name, y.leaf.Name) })
	return leaves, append(problems, addresses.problems()...), nil
}

// claimNodeLeaf claims the name of a node's leaf. It fails if the name is invalid or taken within the configuration.
// Only that leaf is affected: a node that joins must not stop what works.
func (p *part) claimNodeLeaf(domain, name string, node *Node, holds bool) *trust.Problem {
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return problemOf(trust.SecretKind, name, ReasonInvalidConfiguration, fmt.Sprintf(
			"the leaf of node %s cannot be named so: %s", node.Name, strings.Join(errs, ", ")))
	}
	if !holds || !p.claim(trust.SecretKind, name, Claim{Domain: domain, Kind: ClaimLeaf}) {
		return problemOf(trust.SecretKind, name, ReasonConflictingClaim, fmt.Sprintf(
			"the leaf of node %s would have the name of another object of the configuration; use a secretName that cannot meet it",
			node.Name))
	}
	return nil
}

// leafOf reads one leaf, in the form in which the domain stores it. The error is why its profile cannot be built.
func (b *builder) leafOf(p *part, domain *configv1alpha1.TrustDomain, name string, cfg *configv1alpha1.Leaf, node *Node) (*trust.Leaf, error) {
	if domain.Editions != nil {
		return b.leafOfEditions(p, domain, cfg)
	}
	return b.leaf(p, name, cfg, node)
}

// leaf reads the Secret of one leaf. The error is why its profile cannot be built.
func (b *builder) leaf(p *part, name string, cfg *configv1alpha1.Leaf, node *Node) (*trust.Leaf, error) {
	object, secret := b.tlsSecret(p, name)
	out := &trust.Leaf{Object: object, Template: cfg.SecretName, Policy: policyOf(&cfg.Policy), Issued: b.issued(p, cfg.IssuedSecretName)}
	if out.Issued != nil {
		out.Issued.Settles = out.Policy.Profile.Backdate
	}
	out.Stores, out.Keystores = formatsOf(cfg.AdditionalFormats), b.keystores(p, cfg.Keystores)
	if secret != nil {
		readLeaf(out, secret)
		out.Keystore = firstKey(undeclared(secret.Keystores, out))
	}
	if cfg.NodeAddresses && out.Certificate != nil && node.contested(out.Certificate.IPAddresses) {
		out.Policy.Profile = keptProfile(cfg, out.Certificate)
		return out, nil
	}
	profile, err := profileFor(cfg, node)
	if err != nil {
		out.Policy.Profile = keptProfile(cfg, out.Certificate)
		return out, err
	}
	out.Policy.Profile = profile
	return out, nil
}

func readLeaf(out *trust.Leaf, secret *Secret) {
	const step = "restore it, or delete the Secret to have it reissued"
	out.Certificate, out.ContentHash, out.Superseded = first(secret.Active.Certificates), secret.ContentHash, secret.Superseded
	beside := secret.Authorities
	out.AnchorsRepeat, out.UnreadAnchors, out.Keystore = beside.Repeats, beside.Unread, secret.Keystore()
	out.Seals, out.StoreDigests = secret.Seals, secret.StoreDigests
	for _, cert := range beside.Certificates {
		if cert.IsCA {
			out.Anchors = append(out.Anchors, cert)
		}
	}
	for _, cert := range pki.Distinct(slices.Concat(secret.Active.Certificates, beside.Certificates)) {
		if cert.IsCA && !cert.Equal(out.Certificate) {
			out.Authorities = append(out.Authorities, cert)
		}
	}
	fault := cmp.Or(secret.Active.Fault, secret.AuthoritiesFault)
	switch {
	case fault != nil:
		out.Problem = problemOf(trust.SecretKind, secret.Name, fault.Reason, fault.Text+"; "+step)
	case secret.Active.Empty():
		out.Problem = problemOf(trust.SecretKind, secret.Name, trust.ReasonUnparsable,
			fmt.Sprintf("%s and %s are empty; %s", ActiveCertKey, ActiveKeyKey, step))
	}
}

func nameFor(template string, node *Node) string {
	if node == nil {
		return template
	}
	return strings.ReplaceAll(template, configv1alpha1.NodePlaceholder, node.Name)
}

func nodeName(node *Node) string {
	if node == nil {
		return ""
	}
	return node.Name
}

// errNoAddress means that a node has no InternalIP for a certificate.
var errNoAddress = errors.New("the node has no InternalIP")

// profileFor builds the profile of a leaf, normalized, so that it compares with the profiles of certificates. A leaf
// without a common name gets the smallest of its names and addresses that fit, compared as text.
func profileFor(cfg *configv1alpha1.Leaf, node *Node) (pki.Profile, error) {
	profile := withoutNames(cfg)
	profile.CommonName = cfg.CommonName
	profile.DNSNames = slices.Clone(cfg.DNSNames)
	profile.IPAddresses = slices.Clone(cfg.IPAddresses)
	if cfg.NodeAddresses && node != nil {
		if len(node.Addresses) == 0 {
			return pki.Profile{}, errNoAddress
		}
		profile.IPAddresses = append(profile.IPAddresses, node.Addresses...)
	}
	profile, err := profile.Normalized()
	if err != nil {
		return pki.Profile{}, err
	}
	fitting := slices.DeleteFunc(slices.Concat(profile.DNSNames, profile.IPAddresses), func(name string) bool { return len(name) > pki.MaxCommonName })
	if profile.CommonName == "" && len(fitting) > 0 {
		profile.CommonName = slices.Min(fitting)
	}
	return profile, nil
}

// keptProfile is the profile of a leaf whose names are not known. It has the names of the existing certificate, if
// that can be read.
func keptProfile(cfg *configv1alpha1.Leaf, cert *pki.Certificate) pki.Profile {
	profile := withoutNames(cfg)
	if cert != nil {
		profile.CommonName = cert.CommonName
		profile.DNSNames = slices.Clone(cert.DNSNames)
		profile.IPAddresses = slices.Clone(cert.IPAddresses)
	}
	return profile
}

func withoutNames(cfg *configv1alpha1.Leaf) pki.Profile {
	profile := policyOf(&cfg.Policy).Profile
	profile.Organizations = slices.Clone(cfg.Organizations)
	profile.Identities = pki.Identities{
		URIs: slices.Clone(cfg.URIs), EmailAddresses: slices.Clone(cfg.EmailAddresses), SubjectFields: slices.Clone(cfg.SubjectFields),
	}
	for _, usage := range cfg.Usages {
		profile.Usages = append(profile.Usages, pki.Usage(usage))
	}
	return profile
}

// candidate is a node's leaf that would have a certain name.
type candidate struct {
	template string
	node     *Node
}

// candidates returns the candidates for the name of each node's leaf. Two templates can produce the same name: with
// peer-{node} and peer-metrics-{node}, a node metrics-x meets a node x.
func (b *builder) candidates(cfg *configv1alpha1.RotationConfigurationSpec) (map[string][]candidate, error) {
	found := map[string][]candidate{}
	for i := range cfg.TrustDomains {
		for j := range cfg.TrustDomains[i].Leaves {
			leaf := &cfg.TrustDomains[i].Leaves[j]
			if leaf.ForEachNode == nil {
				continue
			}
			nodes, err := b.selected(leaf.ForEachNode)
			if err != nil {
				return nil, err
			}
			for _, node := range nodes {
				name := nameFor(leaf.SecretName, node)
				found[name] = append(found[name], candidate{template: leaf.SecretName, node: node})
			}
		}
	}
	return found, nil
}

// owns reports whether a node's leaf may have a name that other leaves would have too. A leaf keeps the name if the
// existing certificate is for its addresses. A name without a Secret goes to the first candidate. A node that joins
// must not take over what another node presents.
func (b *builder) owns(p *part, name, template string, node *Node) bool {
	rivals := p.rivals[name]
	if len(rivals) < 2 {
		return true
	}
	_, secret := b.tlsSecret(p, name)
	if secret == nil {
		return rivals[0].template == template && rivals[0].node == node
	}
	certificate := first(secret.Active.Certificates)
	if certificate == nil {
		return false
	}
	return slices.ContainsFunc(node.Addresses, func(address string) bool {
		return slices.Contains(certificate.IPAddresses, address)
	})
}
