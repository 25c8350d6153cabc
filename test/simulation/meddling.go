// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

func bundleAction(d *trust.Domain, kind trust.ActionKind, anchors ...*pki.Certificate) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.ConfigMapKind, Object: d.Bundle.Name, ResourceVersion: d.Bundle.ResourceVersion,
		Anchors: anchors, Reason: "mutant", Annotations: consenting().Annotations,
	}
}

func signerAction(d *trust.Domain, kind trust.ActionKind) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.SecretKind, Object: d.Signer.Name, ResourceVersion: d.Signer.ResourceVersion,
		Profile: d.Signer.Policy.Profile, Reason: "mutant", Annotations: consenting().Annotations,
	}
}

func issueAction(d *trust.Domain, l *trust.Leaf, ca *pki.Certificate) trust.Action {
	return trust.Action{
		Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		Profile: l.Policy.Profile, Authority: ca.Fingerprint, Anchors: d.Bundle.Anchors, Reason: "mutant", Annotations: consenting().Annotations,
	}
}

// forgetPrevious removes the anchor of the former CA as soon as that does not sign.
func forgetPrevious(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	for _, ca := range d.Signer.Previous {
		if published(d, ca) && d.Signer.Next == nil {
			a.Actions = []trust.Action{bundleAction(d, trust.RetireAnchors, d.Signer.Active)}
		}
	}
}

// destroyAtPromotion destroys the key of the former CA at once.
func destroyAtPromotion(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	if len(d.Signer.Previous) > 0 {
		a.Actions = []trust.Action{signerAction(d, trust.DestroyPrevious)}
	}
}

// resignAllOnJoin signs every leaf with the newest CA if one is missing, as cluster-etcd-operator does when a node
// joins.
func resignAllOnJoin(d *trust.Domain, now time.Time, a *trust.Assessment) {
	newest := a.Newest
	if newest == nil || !published(d, newest) || newest.Expired(now) {
		return
	}
	if !slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return !l.Present }) {
		return
	}
	a.Actions = nil
	for i := range d.Leaves {
		a.Actions = append(a.Actions, issueAction(d, &d.Leaves[i], newest))
	}
}

// onlyNewAfterConflict writes only the new anchor if its first attempt has failed.
func onlyNewAfterConflict() Protocol {
	var tried pki.Fingerprint
	return acting(func(d *trust.Domain, _ time.Time, a *trust.Assessment) {
		for i := range a.Actions {
			action := &a.Actions[i]
			if action.Kind != trust.PublishAnchors || d.Signer.Next == nil {
				continue
			}
			if tried == d.Signer.Next.Fingerprint {
				action.Anchors = []*pki.Certificate{d.Signer.Next}
			}
			tried = d.Signer.Next.Fingerprint
		}
	})()
}

// signUnpublished signs with the next CA at once.
func signUnpublished(d *trust.Domain, now time.Time, a *trust.Assessment) {
	next := d.Signer.Next
	if next == nil || published(d, next) || next.Expired(now) {
		return
	}
	a.Actions = nil
	for i := range d.Leaves {
		a.Actions = append(a.Actions, issueAction(d, &d.Leaves[i], next))
	}
}

// restartRotation starts a rotation again at each request.
func restartRotation(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	if r := requestOf(d, trust.RequestRotate); r != nil && a.InFlight() {
		again := signerAction(d, trust.GenerateNext)
		again.Annotations = map[string]string{trust.AnnotationAnswered: r.ID}
		a.Actions = []trust.Action{again}
	}
}

// rebuildFromActive ignores what live leaves need.
func rebuildFromActive(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	for i := range a.Actions {
		if a.Actions[i].Kind == trust.PublishAnchors && len(d.Bundle.Anchors) == 0 {
			ca := d.Signer.Active
			if ca == nil {
				ca = d.Signer.Next
			}
			a.Actions[i].Anchors = []*pki.Certificate{ca}
		}
	}
}

// abortAlways drops the next CA, even if it has signed.
func abortAlways(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	if r := requestOf(d, trust.RequestAbort); r != nil && d.Signer.Next != nil && d.Signer.Active != nil {
		drop := signerAction(d, trust.DropNext)
		drop.Annotations = map[string]string{trust.AnnotationAnswered: r.ID}
		a.Actions = []trust.Action{drop}
	}
}

// requestOf returns the unanswered request for the signer, nil if there is none.
func requestOf(d *trust.Domain, kind trust.RequestKind) *trust.Request {
	for i := range d.Requests {
		r := &d.Requests[i]
		if r.Kind == kind && r.Secret == d.Signer.Name && !strings.Contains(d.Signer.Annotations[trust.AnnotationAnswered], r.ID) {
			return r
		}
	}
	return nil
}
