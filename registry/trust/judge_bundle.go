// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
)

func (j *judge) judgeBundle() {
	old, b := &j.before.d.Bundle, &j.after.Bundle
	object := b.Ref()
	switch {
	case belongsToOthers(&old.Object, &b.Object):
		j.judgeAdoption(object, &b.Object)
		j.judgeKeys(b)
		j.judgeKeystore(object, &b.Object, old.Keystore, b.Keystore)
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
	j.judgeRepetition(object, old.Repeats, b.Repeats)
	j.judgeUnread(object, old.Unread, b.Unread)
	j.judgeKeys(b)
	j.judgeKeystore(object, &b.Object, old.Keystore, b.Keystore)
	j.judgeStores(old, b)
	j.judgeAnnotations(object, &old.Object, &b.Object, bundleTimes)
	j.judgePublished(b)
	j.judgeRemovedAnchors(b.Anchors)
	j.judgeAddedAnchors(b.Anchors)
	j.judgeSuperseded(old, b)
}

// judgeRepetition refuses a repeated anchor (Bundle.Repeats).
func (j *judge) judgeRepetition(object string, before, after bool) {
	if after && !before {
		j.refuse(NeverEmpty, object, nil, "it would have an anchor more than once: some verifiers refuse all of it", "write each anchor once")
	}
}

// judgeAddedAnchors refuses an anchor with the name of another CA of the domain. No probe could tell which of the two
// a server has loaded, so every rotation would wait for ever.
func (j *judge) judgeAddedAnchors(anchors []*pki.Certificate) {
	object := j.after.Bundle.Ref()
	for _, ca := range anchors {
		if slot := j.before.slot(ca); !j.before.inBundle[ca.Fingerprint] && slot != SlotActive && slot != SlotNext && slot != SlotPrevious {
			j.judgeSubject(object, ca)
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
			j.refuse(ContentDecides, b.Ref(), nil,
				fmt.Sprintf("%s is published now, and %s says that it was at %s", ca.Subject, AnnotationPublished, at.UTC().Format(time.RFC3339)),
				"leave its time out: the controller records it")
		}
	}
}

func (j *judge) judgeRemovedAnchors(kept []*pki.Certificate) {
	object := j.after.Bundle.Ref()
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
	object := j.before.d.Bundle.Ref()
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
	for i := range j.before.d.Bundle.Unread {
		lost = append(lost, j.before.d.Bundle.Unread[i].Error())
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

// judgeBundleRelease refuses to release a bundle while its anchors are needed. Unlike a deleted one, a released
// bundle is not rebuilt, and its content is not guarded.
func (j *judge) judgeBundleRelease() {
	object := j.before.d.Bundle.Ref()
	switch users := j.allUsers(); {
	case j.inFlight():
		j.refuse(AnchorInUse, object, users, "the rotation is in the stage "+string(j.stage)+" and needs the anchors of the bundle",
			"wait for the stage Stable, then release the leaves first")
	case len(users) > 0:
		j.refuse(AnchorInUse, object, users, "nothing would keep the anchors that live leaves need",
			"take the annotation "+AnnotationConfiguration+" from the leaves first, or delete them")
	}
}

// judgeSuperseded refuses a bundle that omits, or misstates, the contents that it has replaced. An omitted content
// could come back: a pod that names it would seem to have loaded what it has not. A pod that names another content
// would wait at its start gate.
func (j *judge) judgeSuperseded(old, b *Bundle) {
	if !succeeds(b.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, b.Ref(), nil, lostSuccession("bundle"), keepSuccession)
	}
}

// judgeLeafSuperseded does the same for the Secret of a leaf. With another certificate the Secret names that
// certificate's former contents.
func (j *judge) judgeLeafSuperseded(old, l *Leaf) {
	if same(old.Certificate, l.Certificate) && !succeeds(l.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, secret(l.Name), nil, lostSuccession("Secret"), keepSuccession)
	}
}

// succeeds reports whether the declared superseded contents are those of before, optionally with the previous content
// added.
func succeeds(says []string, hash string, superseded []string) bool {
	was := contenthash.Content{Hash: hash, Superseded: superseded}
	return hash == "" || slices.Equal(says, superseded) || slices.Equal(says, was.Succession())
}

const keepSuccession = "leave the key " + contenthash.SupersededKey + " as it is: the controller writes it"

func lostSuccession(of string) string {
	return "the key " + contenthash.SupersededKey + " would not name the contents that the " + of +
		" has replaced: pods whose template names one of them could not start"
}
