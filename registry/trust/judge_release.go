// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
)

// letGo says which part of a domain the configuration no longer manages, "" if it keeps it all.
func (e *domainEdit) letGo() string {
	if e.kept != nil {
		return ""
	}
	switch d := e.after.domain(e.old.Name); {
	case d == nil:
		return "it would no longer be configured"
	case d.Signer.Name != e.old.Signer.Name:
		return fmt.Sprintf("its signer would no longer be %s", secret(e.old.Signer.Name))
	default:
		return fmt.Sprintf("its bundle would no longer be %s", configMap(e.old.Bundle.Name))
	}
}

// objectsKept refuses to leave a rotation behind that nothing ends.
func (e *domainEdit) objectsKept() []Violation {
	what := e.letGo()
	if what == "" || e.old.givenUp() {
		return nil
	}
	return []Violation{{
		Invariant: OneRotation, Affected: []string{secret(e.old.Signer.Name)},
		Message: "the rotation would never end: " + what,
	}}
}

// givenUp reports whether all existing objects of the domain were released, or none exists. Without objects that
// certrotation may touch there is no rotation.
func (d *Domain) givenUp() bool {
	objects := []*Object{&d.Signer.Object, &d.Bundle.Object}
	for i := range d.Leaves {
		objects = append(objects, &d.Leaves[i].Object)
	}
	return !slices.ContainsFunc(objects, func(o *Object) bool { return o.Present && !o.Unadopted() })
}

// released refuses to give up a domain, its signer or its bundle while the objects left behind consent to this
// configuration. Unclaimed objects are not guarded, and live leaves depend on them.
func (e *domainEdit) released() []Violation {
	what := e.letGo()
	if what == "" || e.inFlight() {
		return nil
	}
	after := e.after.domain(e.old.Name)
	var held []string
	if after == nil || after.Signer.Name != e.old.Signer.Name {
		held = e.consenting(held, secret(e.old.Signer.Name), &e.old.Signer.Object)
	}
	if after == nil || after.Bundle.Name != e.old.Bundle.Name {
		held = e.consenting(held, configMap(e.old.Bundle.Name), &e.old.Bundle.Object)
	}
	if after == nil {
		for i := range e.old.Leaves {
			held = e.consenting(held, secret(e.old.Leaves[i].Name), &e.old.Leaves[i].Object)
		}
	}
	return e.unreleased(what, held)
}

// aggregatesReleased does the same for the aggregates that collect from the domain.
func (e *domainEdit) aggregatesReleased() []Violation {
	if e.inFlight() {
		return nil
	}
	var held []string
	for _, a := range e.before.Aggregates {
		if !a.Collects(e.old) {
			continue
		}
		if !slices.ContainsFunc(e.after.Aggregates, func(b *Aggregate) bool { return b.Secret.Name == a.Secret.Name }) {
			held = e.consenting(held, secret(a.Secret.Name), &a.Secret)
		}
		if !slices.ContainsFunc(e.after.Aggregates, func(b *Aggregate) bool { return b.ConfigMap.Name == a.ConfigMap.Name }) {
			held = e.consenting(held, configMap(a.ConfigMap.Name), &a.ConfigMap)
		}
	}
	return e.unreleased("what it collects would no longer be aggregated", held)
}

func (e *domainEdit) consenting(held []string, name string, o *Object) []string {
	if o.Present && o.Annotations[AnnotationConfiguration] == e.configuration {
		return append(held, name)
	}
	return held
}

func (e *domainEdit) unreleased(what string, held []string) []Violation {
	return broken(ReleasedByName, held, what+", and nothing would guard the objects that belong to it still",
		"release them by name with `kubectl certrotation release`, and then change the configuration")
}

// leavesKept refuses that a live leaf stops counting because something else claims its name. A leaf that the
// configuration no longer names still counts.
func (e *domainEdit) leavesKept() []Violation {
	lost := e.lost(func(leaf string) bool { return !slices.Contains(e.kept.Released, leaf) })
	return broken(AnchorInUse, lost,
		"a live leaf would count no more, as something else claims its name: its anchor would leave the bundle while it lives",
		"name it in releasedLeaves of this trust domain when nobody presents it any more, and then claim it")
}

// leavesHeld refuses to release a live leaf in flight: a release is a statement, not evidence.
func (e *domainEdit) leavesHeld() []Violation {
	said := e.lost(func(leaf string) bool {
		return slices.Contains(e.kept.Released, leaf) && !slices.Contains(e.old.Released, leaf)
	})
	return broken(AnchorInUse, said,
		"a live leaf would count no more in the middle of a rotation, without evidence that nobody presents it",
		"name it again so that it is reissued, delete its Secret, or release it when the stage is Stable")
}

// membersHeld refuses to release a member in flight: the rotation must go on waiting for it.
func (e *domainEdit) membersHeld() []Violation {
	var said []string
	for p, m := range each(e.was.parties) {
		name := p.Name + "/" + m.Name
		if p.recorded && slices.Contains(e.kept.ReleasedMembers, name) && !slices.Contains(e.old.ReleasedMembers, name) {
			said = append(said, name)
		}
	}
	return broken(TrustBeforeUse, sortedSet(said),
		"a member would be released in the middle of a rotation that waits for it",
		"end its wait with `kubectl certrotation waive`, and release it when the stage is Stable")
}

// lost returns the Secrets of possibly live leaves that would not count after the edit, of those that meant selects.
func (e *domainEdit) lost(meant func(leaf string) bool) []string {
	var out []string
	for i := range e.old.Leaves {
		l := &e.old.Leaves[i]
		if e.is.leaves[l.Name] == nil && meant(l.Name) && (e.was.live(l) || l.Present && l.Certificate == nil) {
			out = append(out, secret(l.Name))
		}
	}
	return out
}

// Collects reports whether the aggregate contains anything of the domain.
func (a *Aggregate) Collects(d *Domain) bool {
	return slices.ContainsFunc(a.Bundles, func(b AggregatedBundle) bool { return b.Bundle == d.Bundle.Name }) ||
		slices.ContainsFunc(d.Leaves, func(l Leaf) bool { return slices.Contains(a.Leaves, l.Name) })
}

// consequences are the effects of an allowed edit: what still counts, and what is no longer managed.
func (e *domainEdit) consequences() []string {
	if what := e.letGo(); what != "" {
		return []string{fmt.Sprintf("trust domain %s: %s; nothing renews what it leaves behind", e.old.Name, what)}
	}
	var out []string
	for i := range e.old.Parties {
		p := &e.old.Parties[i]
		counts := slices.ContainsFunc(e.is.parties, func(is *Party) bool { return is.Name == p.Name })
		if len(p.Members) > 0 && !counts {
			out = append(out, fmt.Sprintf("trust domain %s: relying party %s counts no more: no rotation waits for its members", e.kept.Name, p.Name))
		}
	}
	former := e.was.unconfigured()
	for _, name := range e.is.unconfigured() {
		if !slices.Contains(former, name) {
			out = append(out, fmt.Sprintf("trust domain %s: %s still counts until it is seen to be gone, waived, or released in releasedMembers", e.kept.Name, name))
		}
	}
	for i := range e.old.Leaves {
		was := &e.old.Leaves[i]
		is := e.is.leaves[was.Name]
		switch {
		case !was.Present:
		case slices.Contains(e.kept.Released, was.Name) && !slices.Contains(e.old.Released, was.Name):
			out = append(out, fmt.Sprintf("Secret/%s is released: whoever presents it is refused once its CA is retired", was.Name))
		case is != nil && is.Unnamed && !was.Unnamed:
			out = append(out, fmt.Sprintf("Secret/%s counts until it is deleted or named in releasedLeaves, and is not renewed", was.Name))
		}
	}
	return out
}
