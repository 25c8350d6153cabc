// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// maxBackdate bounds how far a reissued leaf begins before now, for nodes whose clocks are behind.
const maxBackdate = time.Hour

// Signer holds the certificates of a signer Secret: those of all slots whose keys are known.
type Signer struct {
	// Name of the Secret.
	Name        string
	Authorities []*pki.Certificate
}

// Reissue is the plan to make a generation work again.
type Reissue struct {
	// Resign are the authorities to re-sign, each with the Secret that holds it.
	Resign []Resign
	// Leaves of the generation to reissue. The others stay.
	Leaves []ReissueLeaf
	// Trust of the new generation, one for each bundle of the old one.
	Trust []ReissueTrust
}

// Resign is an authority that gets a new validity.
type Resign struct {
	Secret      string
	Certificate *pki.Certificate
}

// ReissueLeaf is the successor of an expired leaf.
type ReissueLeaf struct {
	Name    string
	Profile pki.Profile
	// Authority signed the expired leaf. It signs the new one too, re-signed if necessary.
	Authority *pki.Certificate
	// Expired is when the former leaf ended, for messages.
	Expired time.Time
}

// ReissueTrust is a bundle of the new generation.
type ReissueTrust struct {
	Path string
	// Keep are the unchanged anchors. Resigned are the anchors to add re-signed. Dropped have expired, and no signer
	// has their key.
	Keep, Resigned, Dropped []*pki.Certificate
}

// NothingToDo reports whether the generation is fine as it is.
func (r *Reissue) NothingToDo() bool { return len(r.Leaves) == 0 && !r.TrustChanges() }

// TrustChanges reports whether a running process must restart to use the result.
func (r *Reissue) TrustChanges() bool { return len(r.Resign) > 0 }

// PlanReissue decides what to make anew. It changes only expired trust, and a leaf's successor is signed by the same
// key. Nodes that know nothing of each other may be at different points of a rotation, and each keeps its own. If a
// key is missing, the error names it and what to do.
func PlanReissue(g *Generation, signers []Signer, now time.Time) (*Reissue, error) {
	r := &Reissue{}
	for i := range g.Pairs {
		leaf, again, err := PlanLeaf(g.Pairs[i].Name, g.Pairs[i].Certificate, signers, now)
		if err != nil {
			return nil, err
		}
		if again != nil {
			r.resign(again.Secret, again.Certificate, now)
		}
		if leaf != nil {
			r.Leaves = append(r.Leaves, *leaf)
		}
	}
	for i := range g.Bundles {
		trust, err := r.planTrust(&g.Bundles[i], signers, now)
		if err != nil {
			return nil, err
		}
		r.Trust = append(r.Trust, *trust)
	}
	return r, nil
}

// PlanLeaf returns the reissue of a leaf, nil if none is necessary, and its signer if that must be re-signed first.
// The signer is the one of the former certificate.
func PlanLeaf(name string, c *pki.Certificate, signers []Signer, now time.Time) (*ReissueLeaf, *Resign, error) {
	if !ending(c, now) {
		return nil, nil, nil
	}
	secret, ca := signerOf(c, signers, now)
	if ca == nil {
		return nil, nil, fmt.Errorf("the leaf %s has to be reissued, and none of the signers (%s) has the key that signed it (issuer %s): "+
			"give the Secret of that signer with --secret-file", name, names(signers), c.Issuer)
	}
	leaf := &ReissueLeaf{Name: name, Profile: ProfileOf(c), Authority: ca, Expired: c.NotAfter}
	if ending(ca, now) {
		return leaf, &Resign{Secret: secret, Certificate: ca}, nil
	}
	return leaf, nil, nil
}

// planTrust keeps valid anchors and re-signs expired ones. If the bundle knows one authority of a signer, it gets all
// of them: the node may have missed the last revision before the outage.
func (r *Reissue) planTrust(b *Bundle, signers []Signer, now time.Time) (*ReissueTrust, error) {
	t := &ReissueTrust{Path: b.Path}
	add := func(to *[]*pki.Certificate, ca *pki.Certificate) {
		known := func(other *pki.Certificate) bool { return sameAuthority(ca, other) }
		if !slices.ContainsFunc(t.Keep, ca.Equal) && !slices.ContainsFunc(t.Resigned, known) {
			*to = append(*to, ca)
		}
	}
	for _, ca := range b.Anchors {
		if !ca.Expired(now) {
			add(&t.Keep, ca)
		}
	}
	for _, s := range signers {
		if !slices.ContainsFunc(s.Authorities, func(ca *pki.Certificate) bool {
			return slices.ContainsFunc(b.Anchors, func(anchor *pki.Certificate) bool { return sameAuthority(ca, anchor) })
		}) {
			continue
		}
		for _, ca := range s.Authorities {
			if !ending(ca, now) {
				add(&t.Keep, ca)
				continue
			}
			if slices.ContainsFunc(t.Keep, func(kept *pki.Certificate) bool { return sameAuthority(ca, kept) && !ending(kept, now) }) {
				// An earlier recovery has re-signed it.
				continue
			}
			r.resign(s.Name, ca, now)
			add(&t.Resigned, ca)
		}
	}
	for _, ca := range b.Anchors {
		if ca.Expired(now) && !slices.ContainsFunc(slices.Concat(t.Keep, t.Resigned), func(other *pki.Certificate) bool { return sameAuthority(ca, other) }) {
			t.Dropped = append(t.Dropped, ca)
		}
	}
	if len(t.Keep)+len(t.Resigned) == 0 {
		return nil, fmt.Errorf("every anchor of %s has expired (%s), and none of the signers (%s) has the key of one: "+
			"give the Secret of its signer with --secret-file", b.Path, subjects(b.Anchors), names(signers))
	}
	return t, nil
}

// resign plans to re-sign an authority if it has expired.
func (r *Reissue) resign(secret string, ca *pki.Certificate, now time.Time) {
	if ending(ca, now) && !slices.ContainsFunc(r.Resign, func(other Resign) bool { return ca.Equal(other.Certificate) }) {
		r.Resign = append(r.Resign, Resign{Secret: secret, Certificate: ca})
	}
}

// signerOf finds the authority whose key signed a certificate. Of several certificates of that key, it returns the
// one that is valid longest.
func signerOf(c *pki.Certificate, signers []Signer, now time.Time) (secret string, best *pki.Certificate) {
	for _, s := range signers {
		for _, ca := range s.Authorities {
			if c.SignedBy(ca) && !now.Before(ca.NotBefore) && (best == nil || ca.NotAfter.After(best.NotAfter)) {
				secret, best = s.Name, ca
			}
		}
	}
	return secret, best
}

// ProfileOf returns the profile of a leaf's successor: identical, for a life that begins now.
func ProfileOf(c *pki.Certificate) pki.Profile {
	life := c.NotAfter.Sub(c.NotBefore)
	backdate := min(life/soonPart, maxBackdate)
	return pki.Profile{
		CommonName: c.CommonName, Organizations: c.Organizations, DNSNames: c.DNSNames, IPAddresses: c.IPAddresses,
		Identities: c.Identities, Usages: c.Usages, Key: c.KeyAlgorithm, Validity: max(life-backdate, time.Second), Backdate: backdate,
	}
}

// ending reports whether a certificate has expired, or is in the last hundredth of its life and may expire before it
// is used.
func ending(c *pki.Certificate, now time.Time) bool {
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/100
}

// sameAuthority reports whether two certificates are interchangeable as anchors: same name, same key.
func sameAuthority(a, b *pki.Certificate) bool {
	return a.SubjectHash == b.SubjectHash && a.PublicKeyHash == b.PublicKeyHash
}

func names(signers []Signer) string {
	if len(signers) == 0 {
		return "there are none"
	}
	out := make([]string, 0, len(signers))
	for _, s := range signers {
		out = append(out, s.Name)
	}
	return strings.Join(out, ", ")
}

func subjects(certs []*pki.Certificate) string {
	out := make([]string, 0, len(certs))
	for _, c := range certs {
		out = append(out, c.Subject)
	}
	return strings.Join(out, ", ")
}
