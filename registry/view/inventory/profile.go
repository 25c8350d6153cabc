// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

// errNoAddress says that a node has no InternalIP that could be put into a certificate.
var errNoAddress = errors.New("the node has no InternalIP")

// profileFor makes the profile of a leaf, normalized, so that it compares with what certificates report. A leaf
// without a common name gets the smallest of its names and addresses, compared as text.
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
	if names := slices.Concat(profile.DNSNames, profile.IPAddresses); profile.CommonName == "" && len(names) > 0 {
		profile.CommonName = slices.Min(names)
	}
	return profile, nil
}

// keptProfile is the profile of a leaf whose names are not known: it has the names of the existing certificate, if that
// can be read.
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
	for _, usage := range cfg.Usages {
		profile.Usages = append(profile.Usages, pki.Usage(usage))
	}
	return profile
}
