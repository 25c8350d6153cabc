// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// The anchors beside a leaf, under ca.crt of its Secret, serve the many programs that mount only one Secret. So
// ca.crt is a copy of the bundle: it gains an anchor before the bundle does, and loses it after the bundle has.
//
//	Distributing   every ca.crt gains next ──► the bundle gains it ──► a member with evidence of the bundle has both
//	Retiring       the bundle loses the old one ──► every ca.crt loses it ──► its key is destroyed

// anchorsBeside returns the anchors that the Secret of a leaf must have, in order: those of the bundle, those that
// the bundle is about to gain, and others of the Secret that are still needed.
func (a *assessor) anchorsBeside(l *Leaf) []*pki.Certificate {
	want := slices.Clone(a.d.Bundle.Anchors)
	for _, ca := range a.unpublished() {
		if !ca.Expired(a.now) {
			want = append(want, ca)
		}
	}
	for _, ca := range l.Anchors {
		if !slices.ContainsFunc(want, ca.Equal) && len(a.neededBy(ca)) > 0 {
			want = append(want, ca)
		}
	}
	return want
}

// copiesAnchors reports whether the anchors in the Secret of a leaf are kept up to date. A Secret without anchors
// needs none: no verifier uses it. A leaf that the configuration no longer names keeps them while a member that
// presents it counts, as that may restart with them.
func (a *assessor) copiesAnchors(l *Leaf) bool {
	named := !l.Unnamed || a.held[l.Name] && !l.Unadopted()
	return named && len(l.Anchors) > 0 && l.Certificate != nil && l.Problem == nil && unwritable("", &l.Object) == nil
}

// withoutAnchor returns, as blockers, the leaves whose Secrets lack an anchor that they must have.
func (a *assessor) withoutAnchor(ca *pki.Certificate) []Blocker {
	if ca.Expired(a.now) {
		return nil
	}
	out, known := a.lacking[ca.Fingerprint]
	if known {
		return out
	}
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; a.copiesAnchors(l) && !slices.ContainsFunc(l.Anchors, ca.Equal) {
			out = append(out, Blocker{
				Object: secret(l.Name), Reason: ReasonAnchorNotLoaded, Message: "does not have " + ca.Subject + " under ca.crt yet",
			})
		}
	}
	a.lacking[ca.Fingerprint] = out
	return out
}

// updateAnchors updates the anchors beside the leaves. It skips leaves that are issued now, as that writes the
// anchors too.
func (a *assessor) updateAnchors(issues []Action) []Action {
	var out []Action
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if slices.ContainsFunc(issues, func(x Action) bool { return x.Object == l.Name }) {
			continue
		}
		if update := a.updateAnchorsOf(l); update != nil {
			out = append(out, *update)
		}
	}
	return out
}

// updateAnchorsOf updates the anchors beside a leaf, nil if they are up to date.
func (a *assessor) updateAnchorsOf(l *Leaf) *Action {
	if !a.copiesAnchors(l) {
		return nil
	}
	want := a.anchorsBeside(l)
	gained, lost := differenceOf(want, l.Anchors), differenceOf(l.Anchors, want)
	if len(want) == 0 || len(gained)+len(lost) == 0 {
		return nil
	}
	return &Action{
		Kind: UpdateLeafAnchors, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion, Anchors: want,
		// Verifiers by ca.crt lose the anchors that are removed.
		Irreversible: len(lost) > 0,
		Reason:       anchorsReason(gained, lost),
	}
}

func anchorsReason(gained, lost []*pki.Certificate) string {
	var parts []string
	if len(gained) > 0 {
		parts = append(parts, "its ca.crt lacks "+subjectsOf(gained))
	}
	if len(lost) > 0 {
		parts = append(parts, fmt.Sprintf("nothing needs %s of its ca.crt", subjectsOf(lost)))
	}
	return strings.Join(parts, ", and ")
}

func differenceOf(of, from []*pki.Certificate) []*pki.Certificate {
	return slices.DeleteFunc(slices.Clone(of), func(ca *pki.Certificate) bool { return slices.ContainsFunc(from, ca.Equal) })
}

func subjectsOf(cas []*pki.Certificate) string {
	subjects := make([]string, 0, len(cas))
	for _, ca := range cas {
		subjects = append(subjects, ca.Subject)
	}
	return strings.Join(subjects, " and ")
}

// judgeLeafAnchors refuses that the Secret of a leaf loses an anchor that is needed.
func (j *judge) judgeLeafAnchors(old, l *Leaf) {
	var users []string
	lost := differenceOf(old.Anchors, l.Anchors)
	for _, ca := range lost {
		users = append(users, j.before.neededBy(ca)...)
	}
	if len(users) == 0 {
		return
	}
	j.refuse(AnchorInUse, secret(l.Name), sortedSet(users),
		fmt.Sprintf("its ca.crt would lose %s, and whoever verifies by it would refuse what is still presented", subjectsOf(lost)),
		"leave ca.crt as it is: the controller keeps it as "+configMap(j.before.d.Bundle.Name)+" is")
}
