// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// membersKept refuses that a counting member stops counting, or counts for less. By the roster it would still count,
// but it would no longer be observed, and its former settings would be lost. A member that was named by mistake may
// be removed.
func (e *domainEdit) membersKept() []Violation {
	var lost []string
	for p, m := range each(e.was.parties) {
		// A member that needs no evidence, or cannot run yet, has nothing to lose.
		if !p.Kind.Stated() && !e.was.idle[m] && !e.was.mistaken(p, m) && !slices.ContainsFunc(e.is.parties, func(q *Party) bool { return e.promises(q, p, m) }) {
			lost = append(lost, MemberName(p.Name, m.Name))
		}
	}
	return broken(TrustBeforeUse, lost,
		"who counts in the rotation would count no more, or for less: by other evidence, a shorter time, or fewer leaves that it verifies or presents",
		e.wait()+"; then it may also be taken out of the configuration, if nothing was ever seen of it")
}

// mistaken reports whether a member is taken for nonexistent: it was never observed, and an authorized operator has
// waived it by name.
func (a *decision) mistaken(p *Party, m *Member) bool {
	return p.Kind.observed() && m.Pod == nil && len(m.Observations) == 0 && a.waiver(p, m) != nil
}

// promises reports whether party q requires at least as much of a member as p did.
func (e *domainEdit) promises(q, p *Party, m *Member) bool {
	if q.recorded && !p.recorded || q.Name != p.Name || q.Kind != p.Kind || q.Grace < p.Grace || (q.VerifiesNothing && !p.VerifiesNothing) || !contains(q.Verifies, p.Verifies) {
		return false
	}
	return slices.ContainsFunc(q.Members, func(n Member) bool {
		return n.Name == m.Name && samePod(m, &n) && contains(n.Holds, m.Holds) && !e.is.idleNamed(q, m.Name)
	})
}

func (a *decision) idleNamed(p *Party, member string) bool {
	for i := range p.Members {
		if m := &p.Members[i]; m.Name == member && a.idle[m] {
			return true
		}
	}
	return false
}

// evidenceKept refuses that, during a rotation, evidence of a member comes from elsewhere or ends at another time.
// Another address is another process, and another reporter is another witness.
func (e *domainEdit) evidenceKept() []Violation {
	var out []Violation
	for i := range e.old.Parties {
		p := &e.old.Parties[i]
		q := e.kept.Party(p.Name)
		if q == nil || q.Kind != p.Kind {
			continue
		}
		out = append(out, broken(TrustBeforeUse, e.moved(p, q),
			"other processes would be probed in its place: addresses may be added, but those that are there stay, with their server names, leaves and proofs", "")...)
		if q.Lease != p.Lease {
			out = append(out, Violation{Invariant: TrustBeforeUse, Affected: []string{p.Name}, Message: fmt.Sprintf(
				"the lease of its evidence would change from %s to %s: how long silence is taken for life is part of what was promised", p.Lease, q.Lease)})
		}
		out = append(out, mountsKept(p, q)...)
		if q.StartAssumed && !p.StartAssumed {
			out = append(out, Violation{Invariant: TrustBeforeUse, Affected: []string{p.Name},
				Message: "pods would count that no start gate has kept from an older content"})
		}
		if !q.Reporters.within(p.Reporters) {
			out = append(out, Violation{Invariant: TrustBeforeUse, Affected: []string{p.Name},
				Message: "others could report for its members: who may report decides what is proven"})
		}
	}
	return out
}

// moved returns the members of p that q would probe elsewhere.
func (e *domainEdit) moved(p, q *Party) []string {
	var out []string
	for i := range p.Members {
		m := &p.Members[i]
		if n := q.member(m.Name); n != nil && !e.was.idle[m] && !probesKept(m.Probes, n.Probes) {
			out = append(out, MemberName(p.Name, m.Name))
		}
	}
	return out
}

// probesKept reports whether the same processes are probed in the same way. Interval and timeout do not matter to
// evidence.
func probesKept(was, is []Probe) bool {
	return !slices.ContainsFunc(was, func(p Probe) bool {
		return !slices.ContainsFunc(is, func(q Probe) bool {
			q.Interval, q.Timeout = p.Interval, p.Timeout
			return p == q
		})
	})
}

// mountsKept refuses that, during a rotation, the evidence of pods is read from other volumes.
func mountsKept(p, q *Party) []Violation {
	if !p.Kind.traits().inVolumes || p.Mounts.Place() == q.Mounts.Place() {
		return nil
	}
	return []Violation{{Invariant: TrustBeforeUse, Affected: []string{p.Name}, Message: "what its pods have loaded would be read in other volumes, or under another key"}}
}

// wordsRefused refuses a party that needs no evidence, or only time, as the first known verifier or holder of a leaf.
// The rotation waits for such a leaf, and a mere statement must not end the wait.
func (e *domainEdit) wordsRefused() []Violation {
	var said []string
	for i := range e.old.Leaves {
		l := &e.old.Leaves[i]
		is := e.is.leaves[l.Name]
		if is == nil {
			continue
		}
		was, now := slices.ContainsFunc(e.was.verifiers[l.Name], verifying), e.is.verifiers[l.Name]
		verified := !was && !l.Unnamed && (is.Unnamed || slices.ContainsFunc(now, verifying) && !slices.ContainsFunc(now, observedParty))
		held := e.was.live(l) && !e.was.held[l.Name] && e.is.held[l.Name] && !e.is.heldByObserved(l.Name)
		if verified || held {
			said = append(said, secret(l.Name))
		}
	}
	if len(e.old.Leaves) == 0 && !slices.ContainsFunc(e.was.parties, verifying) &&
		slices.ContainsFunc(e.is.parties, verifying) && !slices.ContainsFunc(e.is.parties, observedParty) {
		said = append(said, secret(e.old.Signer.Name))
	}
	return broken(TrustBeforeUse, said,
		"no member is known to verify or to present it, and a party that is asked for nothing, or for time alone, would settle that", "")
}

func observedParty(p *Party) bool { return p.Kind.observed() && verifying(p) }

func (a *decision) heldByObserved(leaf string) bool {
	return slices.ContainsFunc(a.parties, func(p *Party) bool { return p.Kind.observed() && p.holds(leaf) })
}

// timesKept refuses that something ends earlier than was promised when the rotation began.
func (e *domainEdit) timesKept() []Violation {
	var out []Violation
	refuse := func(object, what string, was, is time.Duration) {
		out = append(out, Violation{Invariant: AnchorInUse, Affected: []string{object}, Message: fmt.Sprintf("%s would shrink from %s to %s", what, was, is)})
	}
	if was := e.old.Unlisted; was != nil {
		switch is := e.kept.Unlisted; {
		case is == nil:
			refuse(secret(e.old.Signer.Name), "the drain of leaves that no Secret holds", was.Drain, 0)
		case is.Drain < was.Drain:
			refuse(secret(e.old.Signer.Name), "the drain of leaves that no Secret holds", was.Drain, is.Drain)
		}
	}
	// An unrecorded time is derived from the beginning of a certificate and its backdate.
	if was, is := e.old.Signer.Policy.Profile.Backdate, e.kept.Signer.Policy.Profile.Backdate; is < was {
		refuse(secret(e.old.Signer.Name), "backdate, by which the age of the CA is known,", was, is)
	}
	for i := range e.old.Leaves {
		l := &e.old.Leaves[i]
		is := e.is.leaves[l.Name]
		if is == nil || is.Unnamed || l.Certificate == nil {
			continue
		}
		if was, is := l.Policy.Profile.Backdate, is.Policy.Profile.Backdate; is < was {
			refuse(secret(l.Name), "backdate, by which the age of the leaf is known,", was, is)
		}
	}
	return out
}

// carriersKept refuses to remove what brings bundle and leaves of the domain to processes: an aggregate, a rollout, a
// copy.
func (e *domainEdit) carriersKept() []Violation {
	var lost []string
	for _, a := range e.before.Aggregates {
		if a.Collects(e.old) && !slices.ContainsFunc(e.after.Aggregates, func(b *Aggregate) bool { return b.keeps(a, e.old) }) {
			lost = append(lost, configMap(a.ConfigMap.Name), secret(a.Secret.Name))
		}
	}
	own := e.own()
	for _, c := range e.before.Carriers {
		carries := func(object string) bool { return own[object] }
		kept := slices.ContainsFunc(e.after.Carriers, func(d Carrier) bool { return d.Name == c.Name })
		if !kept && slices.ContainsFunc(c.Objects, carries) {
			lost = append(lost, c.Name)
		}
	}
	return broken(AnchorInUse, lost,
		"what brings the bundle and the leaves to processes would be taken away, or carry less, while they need both anchors", "")
}

// own are the names of the objects of the domain.
func (e *domainEdit) own() map[string]bool {
	own := map[string]bool{secret(e.old.Signer.Name): true, e.old.Bundle.Ref(): true}
	for i := range e.old.Leaves {
		own[secret(e.old.Leaves[i].Name)] = true
	}
	return own
}

// keeps reports whether an aggregate still collects all that another one did of a domain, under the same names.
func (a *Aggregate) keeps(before *Aggregate, d *Domain) bool {
	if a.Secret.Name != before.Secret.Name || a.ConfigMap.Name != before.ConfigMap.Name {
		return false
	}
	lacksLeaf := func(l Leaf) bool { return slices.Contains(before.Leaves, l.Name) && !slices.Contains(a.Leaves, l.Name) }
	lacksBundle := func(b AggregatedBundle) bool { return b.Bundle == d.Bundle.Name && !slices.Contains(a.Bundles, b) }
	return !slices.ContainsFunc(d.Leaves, lacksLeaf) && !slices.ContainsFunc(before.Bundles, lacksBundle)
}

// stepsRefused refuses an edit that unblocks a step which signs or cannot be undone. The other rules name the broken
// promise. This one checks the result.
func (e *domainEdit) stepsRefused() []Violation {
	was := e.was.possible()
	steps := slices.DeleteFunc(e.is.possible(), func(step string) bool { return slices.Contains(was, step) })
	for i := range e.old.Leaves {
		l := &e.old.Leaves[i]
		if e.is.leaves[l.Name] == nil || !slices.ContainsFunc(e.was.verifiers[l.Name], verifying) {
			continue
		}
		for _, ca := range e.is.candidates() {
			before, _ := e.was.maySign(ca, l.Name)
			if after, _ := e.is.maySign(ca, l.Name); after && !before {
				steps = append(steps, fmt.Sprintf("%s of %s by %s", IssueLeaf, secret(l.Name), ca.Subject))
			}
		}
	}
	return broken(TrustBeforeUse, steps, "the edit itself would make a step possible that was not proven before", "")
}

// possible returns the steps of a domain that cannot be undone, even if other steps must come first.
func (a *decision) possible() []string {
	out, choice := a.assessment(), newChoice(a)
	var steps []string
	for _, step := range []func(*Assessment) *Action{choice.generateFirst, a.dropExpired, a.abort, a.promote, a.retire, a.destroyPrevious} {
		action := step(out)
		if action == nil || action.Kind == GenerateNext || action.Kind == RecordRoster {
			continue
		}
		if action.Kind != RetireAnchors {
			steps = append(steps, string(action.Kind))
			continue
		}
		for _, ca := range a.d.Bundle.Anchors {
			if !slices.ContainsFunc(action.Anchors, func(kept *pki.Certificate) bool { return same(kept, ca) }) {
				steps = append(steps, fmt.Sprintf("%s of %s", RetireAnchors, ca.Subject))
			}
		}
	}
	return steps
}
