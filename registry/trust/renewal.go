// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// signerDue returns when the active CA must be renewed, zero if there is none.
func (a *facts) signerDue() time.Time {
	s := &a.d.Signer
	if s.Active == nil || s.Issued != nil {
		return time.Time{}
	}
	return a.due(&s.Object, s.Active, s.Policy)
}

// due returns when to renew a certificate: earlier than refresh by the object's share of the jitter, so that
// certificates made together are not renewed together. The share depends only on the names of namespace and object.
// It takes at most half of the time until refresh: a certificate that is due when it is made is made over and over.
func (a *facts) due(o *Object, c *pki.Certificate, p Policy) time.Time {
	if p.JitterPercent == 0 {
		return refresh(c, p)
	}
	h := fnv.New32a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(a.d.Namespace + "/" + o.Name))
	const shares = 1000
	at := refresh(c, p)
	spread := c.NotAfter.Sub(c.NotBefore) / 100 * time.Duration(p.JitterPercent)
	spread = max(0, min(spread, at.Sub(c.NotBefore.Add(p.Profile.Backdate))/2))
	return at.Add(-spread / shares * time.Duration(h.Sum32()%shares))
}

func dueSince(at time.Time) string {
	return "it is due for renewal since " + at.UTC().Format(time.RFC3339)
}

// hostDifference compares the subject alternative names of a certificate with those that it should have. An IP
// address that is repeated as a DNS name, as library-go writes it, is no difference. One that is a DNS name only is
// missing: clients look for an address among the IP addresses alone.
func hostDifference(c *pki.Certificate, want pki.Profile) (extra, missing []string) {
	has := hosts(c.DNSNames, c.IPAddresses)
	should := hosts(want.DNSNames, want.IPAddresses)
	for _, h := range has {
		if !slices.Contains(should, h) {
			extra = append(extra, h)
		}
	}
	for _, h := range should {
		switch {
		case !slices.Contains(has, h):
			missing = append(missing, h)
		case slices.Contains(want.IPAddresses, h) && !slices.Contains(c.IPAddresses, h):
			missing = append(missing, h+" as an IP address")
		}
	}
	return extra, missing
}

// policyDifference says how a certificate differs from the profile of its successor, "" if it does not. Validity is
// ignored: it applies from the next certificate on.
func policyDifference(c *pki.Certificate, want pki.Profile) string {
	if extra, missing := hostDifference(c, want); len(extra)+len(missing) > 0 {
		return fmt.Sprintf("its names differ from the configuration (missing %q, not required %q)", missing, extra)
	}
	if extra, missing := c.Identities.Difference(&want.Identities); len(extra)+len(missing) > 0 {
		return fmt.Sprintf("its identities differ from the configuration (missing %q, not required %q)", missing, extra)
	}
	switch {
	case want.Key != "" && c.KeyAlgorithm != want.Key:
		return keyDifference(c, want)
	case c.CommonName != want.CommonName || !sameSet(c.Organizations, want.Organizations):
		return fmt.Sprintf("its subject %s differs from the configuration (common name %q, organizations %q)", c.Subject, want.CommonName, want.Organizations)
	case !sameSet(c.Usages, want.Usages):
		return fmt.Sprintf("its usages %q differ from the configuration %q", c.Usages, want.Usages)
	}
	return ""
}

func keyDifference(c *pki.Certificate, want pki.Profile) string {
	return fmt.Sprintf("its key is %s and the configuration says %s", c.KeyAlgorithm, want.Key)
}

// unusable says why no verifier would accept a leaf, no matter which CA signed it, "" if there is no reason. A leaf
// with more names than required works.
func (a *facts) unusable(c *pki.Certificate, want pki.Profile) string {
	switch {
	case c.Expired(a.now):
		return fmt.Sprintf("the leaf expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	case !c.ValidAt(a.now):
		return fmt.Sprintf("the leaf is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	}
	if _, missing := hostDifference(c, want); len(missing) > 0 {
		return fmt.Sprintf("the leaf lacks the names %q, by which its holder is verified", missing)
	}
	if _, missing := c.Identities.Difference(&want.Identities); len(missing) > 0 {
		return fmt.Sprintf("the leaf lacks the identities %q, by which its peers may authorize it", missing)
	}
	for _, usage := range want.Usages {
		if len(c.Usages) > 0 && !slices.Contains(c.Usages, usage) {
			return fmt.Sprintf("the leaf lacks the usage %s", usage)
		}
	}
	return ""
}
