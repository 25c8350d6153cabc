// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Assess derives the stage, blockers and next actions of a domain at one moment.
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

// assessor is a Domain with what is derived from it for one Assess or Judge. After newAssessor, methods change
// nothing but the caches.
type assessor struct {
	d   *Domain
	now time.Time
	// leaves by name, parties as they count (counted.go), verifiers of each leaf by its name.
	leaves    map[string]*Leaf
	parties   []*Party
	verifiers map[string][]*Party
	// named are the members of the configuration, set if there is a roster to compare them with.
	named *names
	// held are the names of the leaves that a member is known to present.
	held map[string]bool
	// abandoned are the names of the leaves whose every presenting member is proven to be gone. It is set only if
	// there are leaves that the configuration does not name.
	abandoned map[string]bool
	// idle are the members that cannot run yet. startedWith are the leaves of the members that the roster records as
	// started.
	idle        map[*Member]bool
	startedWith []string
	// unrotated says that the content shows no rotation in flight.
	unrotated bool
	// authorities are the CAs of the slots and the bundle. claimed are those that only leaf Secrets carry.
	authorities, claimed []*pki.Certificate
	inBundle             map[pki.Fingerprint]bool
	// published is when each anchor was published, as far as recorded.
	published map[pki.Fingerprint]time.Time
	// signers of the leaves by leaf name, nil if no known CA signed the leaf.
	signers map[string]*pki.Certificate
	// under are the live leaves that some verifier accepts by a CA, by its fingerprint. borne counts those that every
	// verifier accepts by the CA. lives counts all live leaves.
	under map[pki.Fingerprint][]string
	borne map[pki.Fingerprint]int
	lives int
	// unreadable are the leaves that exist and cannot be read: they may chain to any CA.
	unreadable []string
	// observations are those of each member that apply to its running processes.
	observations map[*Member][]*Observation
	// trust caches the members without evidence of a CA, deliveries those without evidence of a delivery, toRecord
	// the roster.
	trust map[trustKey]lacking
	// lacking caches the leaves without an anchor beside them.
	lacking    map[pki.Fingerprint][]Blocker
	deliveries *lacking
	toRecord   *Roster
	// misfits caches the leaves that a CA cannot sign (misfitsOf).
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

// newContent is newAssessor without the parties and members that count.
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
	// Ignore the recorded time of an anchor that is not published: no record of the controller says that.
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

// signerOf finds the CA that signed a leaf: first among the slots and the bundle, then in the leaf's Secret.
func (a *assessor) signerOf(l *Leaf) *pki.Certificate {
	if l.Certificate == nil {
		return nil
	}
	if ca := signerAmong(l.Certificate, a.authorities); ca != nil {
		return ca
	}
	return signerAmong(l.Certificate, l.Authorities)
}

// signerAmong prefers the CA that every verifier takes for the issuer to a twin with its key and name.
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
