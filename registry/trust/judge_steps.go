// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// timesKept refuses that something ends earlier than the rotation was promised.
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
	// What is not recorded of a time is derived from the beginning of a certificate and how far that was backdated.
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

// carriersKept refuses to take away what brings bundle and leaves of the domain to processes: an aggregate, a rollout, a copy.
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
	own := map[string]bool{secret(e.old.Signer.Name): true, configMap(e.old.Bundle.Name): true}
	for i := range e.old.Leaves {
		own[secret(e.old.Leaves[i].Name)] = true
	}
	return own
}

// keeps says whether an aggregate collects all of a domain that another one did, under the same names.
func (a *Aggregate) keeps(before *Aggregate, d *Domain) bool {
	if a.Secret.Name != before.Secret.Name || a.ConfigMap.Name != before.ConfigMap.Name {
		return false
	}
	lacksLeaf := func(l Leaf) bool { return slices.Contains(before.Leaves, l.Name) && !slices.Contains(a.Leaves, l.Name) }
	lacksBundle := func(b AggregatedBundle) bool { return b.Bundle == d.Bundle.Name && !slices.Contains(a.Bundles, b) }
	return !slices.ContainsFunc(d.Leaves, lacksLeaf) && !slices.ContainsFunc(before.Bundles, lacksBundle)
}

// stepsRefused refuses an edit by which a step that cannot be taken back, or that signs, becomes possible. The other rules say
// which promise is broken; this one asks for the result.
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

// possible are the steps of a domain that cannot be taken back, whatever else is to be done before them.
func (a *assessor) possible() []string {
	out := a.assess()
	var steps []string
	for _, step := range []func(*Assessment) *Action{a.generateFirst, a.dropExpired, a.abort, a.promote, a.retire, a.destroyPrevious} {
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
