// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Assess derives stage, blockers and next actions of a domain at one moment.
func Assess(d *Domain, now time.Time) *Assessment {
	a := newAssessor(d, now)
	out := &Assessment{
		Stage: a.stage(), Newest: a.newest(), SignerDue: a.signerDue(), Anchors: a.assessAnchors(),
	}
	var due []Action
	out.Leaves, due = a.assessLeaves()
	out.Members = a.assessMembers(out.Stage)
	out.StageSince, out.StageDeadline = a.stageTimes(out.Stage)
	out.Problems = append(a.problems(), a.overdue(out)...)
	turn := a.pace(due)
	out.Actions = consenting(a.actions(out, turn.actions), d.Configuration)
	out.Blockers = a.blockers(out, &turn)
	out.Recheck = a.recheck(out, &turn)
	return out
}

// assessor is a Domain with what is derived from it for one Assess or Judge. newAssessor fills it in; what is asked of it
// afterwards changes nothing, except that what was derived is remembered.
type assessor struct {
	d   *Domain
	now time.Time
	// leaves by name, parties as they count (roster.go), verifiers of each leaf by its name.
	leaves    map[string]*Leaf
	parties   []*Party
	verifiers map[string][]*Party
	// named are the members of the configuration, if there is a roster to compare them with.
	named *names
	// held are the names of the leaves that a member is known to present.
	held map[string]bool
	// abandoned are the names of the leaves that only members presented which are proven to be gone. It is asked of leaves
	// that the configuration does not name.
	abandoned map[string]bool
	// idle are the members that cannot run yet; startedWith are the leaves with which the roster says that members have started.
	idle        map[*Member]bool
	startedWith []string
	// unrotated says that the content shows no rotation in flight.
	unrotated bool
	// authorities are the CAs of the slots and the bundle; claimed are those that only leaf Secrets carry.
	authorities, claimed []*pki.Certificate
	inBundle             map[pki.Fingerprint]bool
	// published is when each anchor was published, as far as recorded.
	published map[pki.Fingerprint]time.Time
	// signers of the leaves by leaf name; nil where none of the known CAs signed it.
	signers map[string]*pki.Certificate
	// under are the names of the live leaves by the fingerprint of each CA by which some verifier accepts them; borne counts those
	// that every verifier accepts by a CA, and lives all live ones.
	under map[pki.Fingerprint][]string
	borne map[pki.Fingerprint]int
	lives int
	// unreadable are the leaves that exist and cannot be read: they may chain to anything.
	unreadable []string
	// observations are those of each member that say something of what runs now.
	observations map[*Member][]*Observation
	// trust remembers who does not show evidence of a CA, deliveries who does not show evidence of a delivery, and toRecord
	// the roster.
	trust map[trustKey]lacking
	// lacking are the leaves without an anchor beside them; every leaf asks for the same.
	lacking    map[pki.Fingerprint][]Blocker
	deliveries *lacking
	toRecord   *Roster
	// misfits remembers the leaves that a CA cannot sign (misfitsOf).
	misfits map[pki.Fingerprint][]misfit
}

type trustKey struct {
	party *Party
	ca    pki.Fingerprint
}

func newAssessor(d *Domain, now time.Time) *assessor {
	a := newContent(d, now)
	a.parties = a.counted()
	for _, p := range a.parties {
		for _, name := range p.Verifies {
			a.verifiers[name] = append(a.verifiers[name], p)
		}
		for i := range p.Members {
			m := &p.Members[i]
			a.observations[m] = a.current(p, m)
			for _, name := range m.Holds {
				a.held[name] = true
			}
		}
		if p.empty || p.Unlisted {
			for _, name := range p.Presents {
				a.held[name] = true
			}
		}
	}
	a.startedWith = presentedByStarted(d.Roster)
	a.idle = a.notStarted()
	return a
}

// newContent is newAssessor up to who counts.
func newContent(d *Domain, now time.Time) *assessor {
	a := &assessor{
		d: d, now: now,
		leaves:    make(map[string]*Leaf, len(d.Leaves)),
		verifiers: make(map[string][]*Party, len(d.Leaves)),
		inBundle:  make(map[pki.Fingerprint]bool, len(d.Bundle.Anchors)),
		published: parsePublished(d.Bundle.Annotations[AnnotationPublished]),
		signers:   make(map[string]*pki.Certificate, len(d.Leaves)),
		under:     map[pki.Fingerprint][]string{},
		borne:     map[pki.Fingerprint]int{},
		held:      map[string]bool{},
		trust:     map[trustKey]lacking{},
		lacking:   map[pki.Fingerprint][]Blocker{},
		misfits:   map[pki.Fingerprint][]misfit{},

		observations: map[*Member][]*Observation{},
	}
	for i := range d.Leaves {
		a.leaves[d.Leaves[i].Name] = &d.Leaves[i]
	}
	a.collectAuthorities()
	// What is said of an anchor before it is published is nobody's record.
	maps.DeleteFunc(a.published, func(f pki.Fingerprint, _ time.Time) bool { return !a.inBundle[f] })
	if slices.ContainsFunc(d.Leaves, func(l Leaf) bool { return l.Unnamed }) {
		a.abandoned = Abandoned(d)
	}
	for i := range d.Leaves {
		a.countLeaf(&d.Leaves[i])
	}
	a.unrotated = a.contentUnrotated()
	return a
}

func (a *assessor) countLeaf(l *Leaf) {
	ca := a.signerOf(l)
	a.signers[l.Name] = ca
	switch {
	case l.Present && l.Certificate == nil:
		a.unreadable = append(a.unreadable, secret(l.Name))
	case a.live(l):
		a.lives++
		for _, link := range a.chainOf(l) {
			a.under[link.ca.Fingerprint] = append(a.under[link.ca.Fingerprint], secret(l.Name))
			if link.identified {
				a.borne[link.ca.Fingerprint]++
			}
		}
	}
}

func (a *assessor) collectAuthorities() {
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
	for i := range a.d.Leaves {
		add(&a.claimed, a.d.Leaves[i].Authorities...)
	}
	for _, c := range a.d.Bundle.Anchors {
		a.inBundle[c.Fingerprint] = true
	}
}

// signerOf finds the CA that signed a leaf: those of the slots and the bundle first, then what the leaf Secrets carry.
func (a *assessor) signerOf(l *Leaf) *pki.Certificate {
	if l.Certificate == nil {
		return nil
	}
	if ca := signerAmong(l.Certificate, a.authorities); ca != nil {
		return ca
	}
	return signerAmong(l.Certificate, l.Authorities)
}

// signerAmong prefers the CA that every verifier takes for the issuer to one of its key and name.
func signerAmong(c *pki.Certificate, authorities []*pki.Certificate) *pki.Certificate {
	var twin *pki.Certificate
	for _, ca := range authorities {
		if !c.SignedBy(ca) {
			continue
		}
		if c.Identifies(ca) {
			return ca
		}
		if twin == nil {
			twin = ca
		}
	}
	return twin
}

// slot of a CA in the domain.
func (a *assessor) slot(ca *pki.Certificate) Slot {
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
	if a.isGeneration(ca) {
		return SlotRetired
	}
	return SlotForeign
}

func same(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.Fingerprint == b.Fingerprint
}

// newest is the CA that members are expected to trust.
func (a *assessor) newest() *pki.Certificate {
	if a.d.Signer.Next != nil {
		return a.d.Signer.Next
	}
	return a.d.Signer.Active
}
