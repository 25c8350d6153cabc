// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"

	"certrotation.dev/registry/pki"
)

func (j *judge) judgeBundle() {
	old, b := &j.before.d.Bundle, &j.after.Bundle
	object := configMap(b.Name)
	switch {
	case belongsToOthers(&old.Object, &b.Object):
		j.judgeAdoption(object, &b.Object)
		return
	case Released(&old.Object, &b.Object):
		j.judgeBundleRelease()
		return
	case !b.Present:
		if old.Present {
			j.judgeBundleDeletion()
		}
		return
	case b.Problem != nil:
		if old.Problem == nil || *old.Problem != *b.Problem {
			j.refuse(NeverEmpty, object, nil, b.Problem.Message, "write PEM certificates of CAs only, under the key ca-bundle.crt")
		}
		return
	case len(b.Anchors) == 0 && (len(old.Anchors) > 0 || !old.Present):
		j.refuse(NeverEmpty, object, j.allUsers(), "the bundle would hold no trust anchor: every handshake would fail",
			"remove single anchors that `kubectl get bundlestatuses` shows as safe to remove")
		return
	}
	j.judgeAnnotations(object, &old.Object, &b.Object, bundleTimes)
	j.judgePublished(b)
	j.judgeRemovedAnchors(b.Anchors)
	j.judgeAddedAnchors(b.Anchors)
	j.judgeSuperseded(old, b)
}

// judgeAddedAnchors refuses an anchor with the name of another CA of the domain. No probe could tell which of the two
// a server has loaded, so every rotation would wait for ever.
func (j *judge) judgeAddedAnchors(anchors []*pki.Certificate) {
	object := configMap(j.after.Bundle.Name)
	for _, ca := range anchors {
		if slot := j.before.slot(ca); !j.before.inBundle[ca.Fingerprint] && slot != SlotActive && slot != SlotNext && slot != SlotPrevious {
			j.judgeSubject(object, ca)
		}
	}
}

// judgeSubject refuses a CA that takes the name of another one of the domain.
func (j *judge) judgeSubject(object string, ca *pki.Certificate) {
	for _, known := range j.before.authorities {
		if known.SubjectHash == ca.SubjectHash && known.PublicKeyHash != ca.PublicKeyHash {
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("another CA has the subject %s already, with another key: nobody could tell which of them a server has loaded", ca.Subject),
				"give the other CA a subject of its own")
			return
		}
	}
}

// judgePublished refuses a publication time long before the anchor is published: the grace period of its verifiers
// would be over at once.
func (j *judge) judgePublished(b *Bundle) {
	published := parsePublished(b.Annotations[AnnotationPublished])
	for _, ca := range b.Anchors {
		at, said := published[ca.Fingerprint]
		if said && !j.before.inBundle[ca.Fingerprint] && at.Before(j.now.Add(-maxClockSkew)) {
			j.refuse(ContentDecides, configMap(b.Name), nil,
				fmt.Sprintf("%s is published now, and %s says that it was at %s", ca.Subject, AnnotationPublished, at.UTC().Format(time.RFC3339)),
				"leave its time out: the controller records it")
		}
	}
}

func (j *judge) judgeRemovedAnchors(kept []*pki.Certificate) {
	object := configMap(j.after.Bundle.Name)
	keeps := make(map[pki.Fingerprint]bool, len(kept))
	for _, ca := range kept {
		keeps[ca.Fingerprint] = true
	}
	for _, ca := range j.before.d.Bundle.Anchors {
		if keeps[ca.Fingerprint] {
			continue
		}
		if users := j.before.neededBy(ca); len(users) > 0 {
			j.refuse(AnchorInUse, object, users,
				fmt.Sprintf("the anchor %s (%s) is still needed", ca.Subject, j.before.slot(ca)),
				j.wayToRetire(ca))
		}
	}
}

// wayToRetire says how an anchor leaves the bundle safely.
func (j *judge) wayToRetire(ca *pki.Certificate) string {
	signer := j.before.d.Signer.Name
	switch j.before.slot(ca) {
	case SlotActive:
		return fmt.Sprintf("replace the CA with `kubectl certrotation rotate %s`: its anchor leaves the bundle when nothing needs it", signer)
	case SlotNext:
		return abortIt(signer)
	case SlotPrevious, SlotRetired:
		return "let the rotation end: the controller removes the anchor when no live leaf chains to it"
	case SlotForeign:
	}
	return "reissue the leaves that chain to it first: delete their Secrets"
}

// judgeBundleDeletion allows the deletion of a bundle only if it can be rebuilt unchanged from the signer.
func (j *judge) judgeBundleDeletion() {
	object := configMap(j.before.d.Bundle.Name)
	var lost []string
	for _, ca := range j.before.d.Bundle.Anchors {
		switch j.before.slot(ca) {
		case SlotActive, SlotNext, SlotPrevious:
		case SlotForeign:
			// It was added by hand, for leaves that need not be of this domain.
			lost = append(lost, "anchor "+ca.Subject)
		case SlotRetired:
			lost = append(lost, j.before.neededBy(ca)...)
		}
	}
	switch {
	case j.inFlight():
		j.refuse(AnchorInUse, object, j.allUsers(),
			fmt.Sprintf("the rotation is in the stage %s and needs both anchors", j.stage),
			"wait for the stage Stable; a stable bundle may be deleted and is rebuilt")
	case j.before.d.Signer.Problem != nil || j.before.d.Signer.Active == nil:
		j.refuse(NeverEmpty, object, j.allUsers(), "the bundle could not be rebuilt: its signer cannot be used",
			"repair "+secret(j.before.d.Signer.Name)+" first")
	case len(lost) > 0:
		j.refuse(AnchorInUse, object, lost, "the bundle holds anchors that are needed and that its signer does not know",
			"remove single anchors that `kubectl get bundlestatuses` shows as safe to remove")
	}
}

// allUsers are the live leaves of the domain.
func (j *judge) allUsers() []string {
	var users []string
	for i := range j.before.d.Leaves {
		if l := &j.before.d.Leaves[i]; j.before.live(l) {
			users = append(users, secret(l.Name))
		}
	}
	return users
}

// abortIt is the safe way out of a rotation to an unwanted CA.
func abortIt(signer string) string {
	return fmt.Sprintf("abort the rotation with `kubectl certrotation abort %s`", signer)
}
