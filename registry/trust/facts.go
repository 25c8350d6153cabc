// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// facts are what the content of Secrets, bundle and records says: the first step of an assessment.
type facts struct {
	d   *Domain
	now time.Time
	// leaves by name.
	leaves map[string]*Leaf
	// authorities are the CAs of the slots and the bundle. claimed are those that only leaf Secrets carry.
	authorities, claimed []*pki.Certificate
	inBundle             map[pki.Fingerprint]bool
	// published is when each anchor was published, as far as recorded.
	published map[pki.Fingerprint]time.Time
	// abandoned are the names of the leaves whose every presenting member is proven to be gone. It is set only if
	// there are leaves that the configuration does not name.
	abandoned map[string]bool
	// signers of the leaves by leaf name, nil if no known CA signed the leaf.
	signers map[string]*pki.Certificate
	// under names the live leaves that some verifier accepts by a CA, by its fingerprint. borne counts those that every
	// verifier accepts by the CA. lives counts all live leaves, valid those whose time has come: nobody has accepted
	// the CA of another one by it.
	under        map[pki.Fingerprint][]string
	borne        map[pki.Fingerprint]int
	lives, valid int
	// unreadable are the leaves that exist and cannot be read: they may chain to any CA.
	unreadable []string
	// nextUnfit says that next cannot sign some leaf. It is set only if the active CA cannot be used.
	nextUnfit bool
	// unrotated says that the content shows no rotation in flight.
	unrotated bool
	// until is when time alone changes the facts.
	until moments
}

func newFacts(d *Domain, now time.Time) *facts {
	a := &facts{
		d: d, now: now,
		leaves:    make(map[string]*Leaf, len(d.Leaves)),
		inBundle:  make(map[pki.Fingerprint]bool, len(d.Bundle.Anchors)),
		published: parsePublished(d.Bundle.Annotations[AnnotationPublished]),
		signers:   make(map[string]*pki.Certificate, len(d.Leaves)),
		under:     map[pki.Fingerprint][]string{},
		borne:     map[pki.Fingerprint]int{},
	}
	for i := range d.Leaves {
		a.leaves[d.Leaves[i].Name] = &d.Leaves[i]
	}
	a.collectAuthorities()
	// Ignore the recorded time of an anchor that is not published: no record of the controller says that.
	maps.DeleteFunc(a.published, func(f pki.Fingerprint, _ time.Time) bool { return !a.inBundle[f] })
	if slices.ContainsFunc(d.Leaves, func(l Leaf) bool { return l.Unnamed }) {
		a.abandoned = Abandoned(d)
	}
	for i := range d.Leaves {
		a.countLeaf(&d.Leaves[i])
	}
	a.nextUnfit = d.Signer.Next != nil && !a.usable(d.Signer.Active) && len(misfitsOf(d, d.Signer.Next)) > 0
	a.unrotated = a.contentUnrotated()
	a.until = a.changes()
	return a
}

// changes returns when time alone changes the facts.
func (a *facts) changes() moments {
	m := moments{now: a.now}
	for _, ca := range slices.Concat(a.authorities, a.claimed) {
		m.add(ca.NotBefore)
		m.addEnd(ca)
	}
	for i := range a.d.Leaves {
		if c := a.d.Leaves[i].Certificate; c != nil {
			m.add(c.NotBefore)
			m.addEnd(c)
		}
		if in := a.d.Leaves[i].Issued; in != nil && in.Certificate != nil {
			m.add(in.settledAt())
			m.addEnd(in.Certificate)
		}
	}
	for i := range a.d.Waivers {
		m.add(a.d.Waivers[i].Expires)
	}
	m.add(a.drainsUntil())
	m.add(a.promotedAt().Add(-maxClockSkew))
	m.add(a.latestPublication().Add(-maxClockSkew))
	return m
}

func (a *facts) countLeaf(l *Leaf) {
	ca := a.signerOf(l)
	a.signers[l.Name] = ca
	switch {
	case l.Present && l.Certificate == nil:
		a.unreadable = append(a.unreadable, secret(l.Name))
	case a.live(l):
		a.lives++
		proves := !a.early(l.Certificate)
		if proves {
			a.valid++
		}
		for _, link := range a.chainOf(l) {
			a.under[link.ca.Fingerprint] = append(a.under[link.ca.Fingerprint], l.Name)
			if link.accepted && proves {
				a.borne[link.ca.Fingerprint]++
			}
		}
	}
}

func (a *facts) collectAuthorities() {
	seen := map[pki.Fingerprint]bool{}
	add := func(to *[]*pki.Certificate, cs ...*pki.Certificate) {
		for _, c := range cs {
			if c != nil && !seen[c.Fingerprint] {
				seen[c.Fingerprint] = true
				*to = append(*to, c)
			}
		}
	}
	add(&a.authorities, a.d.Signer.slots()...)
	add(&a.authorities, a.d.Bundle.Anchors...)
	add(&a.authorities, a.d.Signer.Issuers...)
	for i := range a.d.Leaves {
		add(&a.claimed, a.d.Leaves[i].Authorities...)
	}
	for _, c := range a.d.Bundle.Anchors {
		a.inBundle[c.Fingerprint] = true
	}
}

// signing returns the CAs of the domain, and others that signed its leaves.
func (a *facts) signing() []*pki.Certificate {
	out := slices.Clone(a.authorities)
	for i := range a.d.Leaves {
		if ca := a.signers[a.d.Leaves[i].Name]; ca != nil && !slices.ContainsFunc(out, ca.Equal) {
			out = append(out, ca)
		}
	}
	return out
}

// signerOf finds the CA that signed a leaf: first among the slots and the bundle, then in the leaf's Secret.
func (a *facts) signerOf(l *Leaf) *pki.Certificate {
	if l.Certificate == nil {
		return nil
	}
	if ca := a.signerAmong(l.Certificate, a.authorities); ca != nil {
		return ca
	}
	return a.signerAmong(l.Certificate, l.Authorities)
}

// signerAmong prefers the CA that every verifier takes for the issuer to a twin with its key and name.
func (a *facts) signerAmong(c *pki.Certificate, authorities []*pki.Certificate) *pki.Certificate {
	var twin *pki.Certificate
	for _, ca := range authorities {
		if c.AcceptedBy(ca, a.d.Verifiers) {
			return ca
		}
		if twin == nil && c.SignedBy(ca) {
			twin = ca
		}
	}
	return twin
}

// slot of a CA in the domain. A root has that of the newest CA in use below it.
func (a *facts) slot(ca *pki.Certificate) Slot {
	s := &a.d.Signer
	switch {
	case same(ca, s.Next):
		return SlotNext
	case same(ca, s.Active):
		return SlotActive
	}
	for _, p := range s.Previous {
		if same(ca, p) {
			return SlotPrevious
		}
	}
	if a.isRoot(ca) {
		switch {
		case same(ca, a.d.AnchorOf(s.Active)):
			return SlotActive
		case same(ca, a.d.AnchorOf(s.Next)):
			return SlotNext
		}
		return SlotPrevious
	}
	if a.isGeneration(ca) {
		return SlotRetired
	}
	return SlotForeign
}

// isGeneration reports whether this domain made a CA, under the present name of its signer or a former one.
func (a *facts) isGeneration(ca *pki.Certificate) bool {
	names := []string{a.d.Signer.Name}
	if a.d.Roster != nil {
		names = append(names, a.d.Roster.Signers...)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		switch {
		case a.d.WrittenBy != "":
			return isEdition(ca.CommonName, name)
		case a.d.Signer.Issued != nil:
			return a.namedAsIssued(ca)
		}
		return pki.IsGenerationOf(ca.CommonName, a.d.Namespace, name)
	})
}

// isEdition reports whether an authority with this common name is an edition of a name: each is called as its Secret,
// NAME, NAME-infix, NAME-suffix or NAME-infix-suffix, of 8 and 5 hexadecimal digits.
func isEdition(commonName, name string) bool {
	rest, ok := strings.CutPrefix(commonName, name)
	if !ok {
		return false
	}
	for _, digits := range []int{8, 5} {
		if len(rest) > digits && rest[0] == '-' && (len(rest) == digits+1 || rest[digits+1] == '-') && isHex(rest[1:digits+1]) {
			rest = rest[digits+1:]
		}
	}
	return rest == ""
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// Newest returns the CA that members are expected to trust, "" if there is none.
func Newest(d *Domain) pki.Fingerprint {
	if ca := (&facts{d: d}).newest(); ca != nil {
		return ca.Fingerprint
	}
	return ""
}

// newest is the CA that members are expected to trust.
func (a *facts) newest() *pki.Certificate {
	if a.d.Signer.Next != nil {
		return a.d.Signer.Next
	}
	return a.d.Signer.Active
}

// link is a CA that a leaf chains to.
type link struct {
	ca *pki.Certificate
	// accepted says that every verifier finds it: each certificate on the path is accepted by its issuer
	// (pki.Certificate.AcceptedBy).
	accepted bool
}

// chainOf returns the CAs that a leaf chains to for some verifier (pki.Certificate.MayBeAcceptedBy): its signer, the
// signer's signers, and so on, among the CAs of the slots, the bundle and the leaf's own Secret. The leaves of
// intermediates need their root as much as its own leaves do.
func (a *facts) chainOf(l *Leaf) []link {
	known := slices.Concat(a.authorities, l.Authorities)
	var chain []link
	open := []link{{l.Certificate, true}}
	for len(open) > 0 {
		child := open[0]
		open = open[1:]
		for _, ca := range known {
			if same(ca, child.ca) || !child.ca.MayBeAcceptedBy(ca) {
				continue
			}
			next := link{ca, child.accepted && child.ca.AcceptedBy(ca, a.d.Verifiers)}
			at := slices.IndexFunc(chain, func(l link) bool { return same(l.ca, ca) })
			switch {
			case at < 0:
				chain = append(chain, next)
			case next.accepted && !chain[at].accepted:
				chain[at] = next
			default:
				continue
			}
			open = append(open, next)
		}
	}
	return chain
}

// live reports whether the leaf of this Secret may be presented successfully. A leaf is not live if the configuration
// no longer names it and all its presenting members are proven to be gone.
func (a *facts) live(l *Leaf) bool {
	return l.Certificate != nil && !a.ended(l.Certificate) && (!l.Unnamed || !a.abandoned[l.Name])
}

// liveUnder counts the live leaves that some verifier accepts by ca. Check it before ca is removed.
func (a *facts) liveUnder(ca *pki.Certificate) int { return len(a.under[ca.Fingerprint]) }

// borneBy counts the live leaves that every verifier accepts by ca. Check it before ca is used.
func (a *facts) borneBy(ca *pki.Certificate) int { return a.borne[ca.Fingerprint] }

// issued reports whether leaves were ever issued: by the record, by live ones, or as no Secret holds them.
func (a *facts) issued() bool {
	return a.d.Roster != nil && a.d.Roster.Issued || a.lives > 0 || a.d.Unlisted != nil && a.d.Signer.Active != nil
}

// earlier returns the anchors of earlier generations, including those that must stay for now (inseparable).
func (a *facts) earlier() []*pki.Certificate {
	var out []*pki.Certificate
	for _, ca := range a.d.Bundle.Anchors {
		if slot := a.slot(ca); slot == SlotPrevious || slot == SlotRetired {
			out = append(out, ca)
		}
	}
	return out
}

// leavesBehind reports whether the signer of a leaf is still a CA other than the active one.
func (a *facts) leavesBehind() bool {
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Certificate != nil && !same(a.signers[l.Name], a.d.Signer.Active) && (a.live(l) || !l.Unnamed) {
			return true
		}
	}
	return false
}

// contentUnrotated reports whether the content shows no rotation in flight. Unlike the stage it does not depend on
// the members that count.
func (a *facts) contentUnrotated() bool {
	s := &a.d.Signer
	return s.Active != nil && s.Next == nil && len(s.Previous)+len(a.earlier()) == 0 && !a.leavesBehind()
}

func (a *facts) unreleased(leaves []string) []string {
	if len(a.d.Released) == 0 {
		return leaves
	}
	return slices.DeleteFunc(slices.Clone(leaves), func(name string) bool { return slices.Contains(a.d.Released, name) })
}

// unpublished returns the anchors that the bundle must have and lacks. A lost bundle is rebuilt from the slots and
// from the CAs in the Secrets of live leaves.
func (a *facts) unpublished() []*pki.Certificate {
	s := &a.d.Signer
	lost := len(a.d.Bundle.Anchors) == 0
	var want []*pki.Certificate
	add := func(ca *pki.Certificate) {
		anchor := a.d.AnchorOf(ca)
		known := func(c *pki.Certificate) bool { return same(c, anchor) }
		if anchor != nil && !a.inBundle[anchor.Fingerprint] && !slices.ContainsFunc(want, known) {
			want = append(want, anchor)
		}
	}
	for _, ca := range s.Previous {
		// Processes that load a bundle with a stand-in do not need this one.
		alone := func(leaf string) bool { return len(a.standIns(ca, leaf)) == 0 }
		if lost || slices.ContainsFunc(a.under[ca.Fingerprint], alone) {
			add(ca)
		}
	}
	if lost {
		for _, ca := range a.claimed {
			if a.liveUnder(ca) > 0 && a.slot(ca) == SlotRetired {
				add(ca)
			}
		}
	}
	add(s.Active)
	add(s.Next)
	return want
}

// wasIssued reports whether the Secret of a leaf exists, readable or not.
func (a *facts) wasIssued(leaf string) bool {
	l := a.leaves[leaf]
	return l != nil && l.Present && !l.Unadopted()
}

func (a *facts) latestIssue() time.Time {
	var latest time.Time
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; l.Certificate != nil && l.issuedAt().After(latest) {
			latest = l.issuedAt()
		}
	}
	return latest
}
