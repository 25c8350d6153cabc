// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// The anchors beside a leaf, under ca.crt of its Secret, are what many programs verify by that mount one Secret. So they are a copy
// of the bundle: they gain an anchor before the bundle does, and lose it after the bundle has.
//
//	Distributing   every ca.crt gains next ──► the bundle gains it ──► who shows that it has loaded the bundle starts with both
//	Retiring       the bundle loses the old one ──► every ca.crt loses it ──► its key is destroyed

// anchorsBeside are the anchors that the Secret of a leaf is to have, in order: those of the bundle, those that it is about to gain,
// and of those that it has besides what somebody needs.
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

// copiesAnchors says whether the Secret of a leaf has anchors beside it that are kept up to date. Of one that has none nobody
// verifies by them. A leaf that the configuration does not name any more has them as long as a member counts that presents it: that one
// may start again with what is beside it.
func (a *assessor) copiesAnchors(l *Leaf) bool {
	named := !l.Unnamed || a.held[l.Name] && !l.Unadopted()
	return named && len(l.Anchors) > 0 && l.Certificate != nil && l.Problem == nil && unwritable("", &l.Object) == nil
}

// withoutAnchor are the leaves whose Secrets do not have an anchor that they are to have, as blockers.
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

// updateAnchors brings the anchors beside the leaves up to date, but for leaves that are issued now, which brings them too.
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

// updateAnchorsOf brings the anchors beside a leaf up to date, nil if they are.
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
		// Whoever verifies by them does without what is taken away.
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

// differenceOf are the certificates of one list that another does not have.
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

// judgeLeafAnchors refuses that the Secret of a leaf loses an anchor that somebody needs who verifies by it.
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
