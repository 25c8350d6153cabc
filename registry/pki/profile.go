// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509/pkix"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Profile describes a certificate to make.
type Profile struct {
	// CommonName and Organizations make up the subject.
	CommonName    string
	Organizations []string
	// DNSNames and IPAddresses are the subject alternative names of a leaf. DNS names may look like addresses: some
	// clients look there for addresses.
	DNSNames    []string
	IPAddresses []string
	// Identities are further names of a leaf.
	Identities Identities
	// Usages of a leaf; at least one.
	Usages []Usage
	// Key is the algorithm of the key to generate.
	Key KeyAlgorithm
	// Validity counts from now and is at least one second.
	Validity time.Duration
	// Backdate sets the start of validity before now, for verifiers whose clock is behind. It is not negative.
	Backdate time.Duration
	// Subordinates lets an authority sign further authorities. It has no effect on a leaf.
	Subordinates bool
}

// Normalized returns the profile as its certificate will read. Names and organizations are sorted, without
// duplicates. Addresses are canonical text (an IPv4 address mapped into IPv6 becomes IPv4). Usages are in the order
// of Certificate.Usages. It fails with ErrInvalidProfile or ErrKeyAlgorithm and does not change the receiver.
func (p Profile) Normalized() (Profile, error) {
	if err := p.check(); err != nil {
		return Profile{}, err
	}
	addresses, err := canonicalAddresses(p.IPAddresses)
	if err != nil {
		return Profile{}, err
	}
	p.IPAddresses = addresses
	if p.Identities, err = p.Identities.normalized(); err != nil {
		return Profile{}, err
	}
	p.DNSNames = sortedSet(p.DNSNames)
	p.Organizations = sortedSet(p.Organizations)
	p.Usages = usagesOf(extended(p.Usages))
	return p, nil
}

// check refuses faults of any certificate, authority or leaf.
func (p Profile) check() error {
	if !p.Key.Valid() {
		return fmt.Errorf("profile with key algorithm %q: %w", p.Key, ErrKeyAlgorithm)
	}
	if p.Validity < time.Second {
		return fmt.Errorf("%w: validity %s is less than a second", ErrInvalidProfile, p.Validity)
	}
	if p.Backdate < 0 {
		return fmt.Errorf("%w: backdate %s is negative", ErrInvalidProfile, p.Backdate)
	}
	for _, name := range p.DNSNames {
		if !plausibleName(name) {
			return fmt.Errorf("%w: DNS name %.*q", ErrInvalidProfile, maxErrorText, name)
		}
	}
	for _, usage := range p.Usages {
		if !slices.Contains(Usages(), usage) {
			return fmt.Errorf("%w: usage %.*q", ErrInvalidProfile, maxErrorText, usage)
		}
	}
	return nil
}

// checkLeaf refuses faults that only a leaf can have.
func (p Profile) checkLeaf() error {
	if len(p.Usages) == 0 {
		return fmt.Errorf("%w: a leaf needs a usage", ErrInvalidProfile)
	}
	if p.CommonName == "" && len(p.Organizations) == 0 && len(p.DNSNames) == 0 && len(p.IPAddresses) == 0 && p.Identities.None() {
		return fmt.Errorf("%w: a leaf needs a name", ErrInvalidProfile)
	}
	return nil
}

func (p Profile) subject() pkix.Name {
	return pkix.Name{CommonName: p.CommonName, Organization: p.Organizations}
}

// plausibleName accepts any text that fits a DNS name of a certificate: printable ASCII without spaces, at most 253
// bytes. This includes wildcards and addresses.
func plausibleName(name string) bool {
	notPrintable := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	return name != "" && len(name) <= 253 && !strings.ContainsFunc(name, notPrintable)
}

func canonicalAddresses(texts []string) ([]string, error) {
	var out []string
	for _, text := range texts {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, fmt.Errorf("%w: IP address %.*q", ErrInvalidProfile, maxErrorText, text)
		}
		out = append(out, address.Unmap().String())
	}
	return sortedSet(out), nil
}

func sortedSet[S ~string](in []S) []S {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
