// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
)

func (j *judge) judgeSigner() {
	old, s := &j.before.d.Signer, &j.after.Signer
	object := secret(s.Name)
	if belongsToOthers(&old.Object, &s.Object) {
		j.judgeAdoption(object, &s.Object)
		return
	}
	if !s.Present {
		lost := j.before.lostAnchor()
		switch {
		case !old.Present:
		case lost != nil:
			j.refuse(AnchorInUse, object, secrets(j.before.under[lost.Fingerprint]),
				fmt.Sprintf("%s does not hold %s, so that nothing would hold the anchor of leaves that may be presented", j.before.d.Bundle.Ref(), lost.Subject),
				"wait until the bundle is rebuilt; deleting a stable signer asks for its rotation")
		case j.before.signerAhead():
			// A clock that was ahead made it, and the problem says to delete it.
		case j.before.unsure(old.Active):
			j.refuse(AnchorInUse, object, nil,
				fmt.Sprintf("%s expired unobserved, and may be in use: if the clock has jumped, its key is needed when it is right again", old.Active.Subject),
				"let the rotation end that replaces it, or put the clock right")
		case j.inFlight():
			j.refuse(OneRotation, object, nil,
				fmt.Sprintf("the rotation is in the stage %s, and the Secret holds the keys that it still needs", j.stage),
				"wait for the stage Stable; deleting a stable signer asks for its rotation")
		case j.before.restorable() && j.before.lives+len(j.before.unreadable) == 0:
			j.refuse(TrustBeforeUse, object, nil,
				"no leaf is live in a Secret, but holders may still present theirs: with this key no holder would be cut off, with a new one they would",
				"wait until the leaves are reissued; deleting a stable signer asks for its rotation")
		case len(j.absent()) > 0:
			j.refuse(TrustBeforeUse, object, j.absent(),
				"leaves are missing that this key could issue at once; with a new one they would wait until every member has loaded it, and their holders cannot start without them",
				"wait until the leaves are issued; deleting a stable signer asks for its rotation")
		}
		return
	}
	if !j.judgeContent(object, old.Problem, s.Problem) || old.Problem != nil {
		return
	}
	lower := certificateOf(s.Active)
	if !same(old.Active, s.Active) {
		lower = anew(AnnotationPromotedAt, lower)
	}
	j.judgeAnnotations(object, &old.Object, &s.Object, lower)
	for _, ca := range []*pki.Certificate{s.Active, s.Next} {
		if ca != nil && !slices.ContainsFunc(j.before.authorities, ca.Equal) {
			j.judgeSubject(object, ca)
			if anchor := j.after.AnchorOf(ca); !same(anchor, ca) {
				j.judgeSubject(object, anchor)
			}
			j.judgeFitness(object, ca)
		}
	}
	j.judgeIssuers(old, s)
	j.judgeRequest(old, s)
	j.judgeActive(old, s)
	j.judgeNext(old, s)
	j.judgePrevious(old, s)
}

// absent returns the leaves whose Secrets do not exist, if the active CA can issue them.
func (j *judge) absent() []string {
	var out []string
	if !j.before.restorable() {
		return nil
	}
	for i := range j.before.d.Leaves {
		if l := &j.before.d.Leaves[i]; !l.Present {
			out = append(out, secret(l.Name))
		}
	}
	return out
}

// judgeSubject refuses a CA that takes the name of another one of the domain.
// Another issuer names its CAs as it likes: then only evidence that does not go by names counts.
func (j *judge) judgeSubject(object string, ca *pki.Certificate) {
	if j.before.d.Signer.Issued != nil {
		return
	}
	for _, known := range j.before.authorities {
		if known.SubjectHash == ca.SubjectHash && known.PublicKeyHash != ca.PublicKeyHash {
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("another CA has the subject %s already, with another key: no evidence could tell which of them a server has loaded", ca.Subject),
				"give the other CA a subject of its own")
			return
		}
	}
}

// judgeFitness refuses a CA whose signature on some leaf verifiers would not accept.
func (j *judge) judgeFitness(object string, ca *pki.Certificate) {
	misfits := misfitsOf(j.after, ca)
	if len(misfits) == 0 {
		return
	}
	j.refuse(TrustBeforeUse, object, []string{secret(misfits[0].leaf)}, misfits[0].refusal(ca), "use a CA that may sign all leaves of the trust domain")
}

// judgeActive refuses an active CA that its verifiers have not loaded.
func (j *judge) judgeActive(old, s *Signer) {
	if same(old.Active, s.Active) || (old.Active == nil && s.Active == nil) {
		return
	}
	object := secret(s.Name)
	rotate := fmt.Sprintf("start a rotation with `kubectl certrotation rotate %s`: the new CA is published first", s.Name)
	if s.Active == nil {
		j.refuse(TrustBeforeUse, object, j.allUsers(), "the active CA would be gone", rotate)
		return
	}
	outlived, _ := j.before.outlived()
	if !j.before.anyLive() && !j.before.restorable() && len(outlived) == 0 {
		return
	}
	if interchangeable(old.Active, s.Active) && s.Active.ValidAt(j.now) {
		// A recovery re-signs the CA with the same key and name: verifiers of either accept the leaves of both.
		return
	}
	// The edit may add the issuers of the CA.
	anchor := j.after.AnchorOf(s.Active)
	blockers := j.before.waitsForTrust(j.before.parties, anchor)
	everybodyUsesIt := j.before.valid > 0 && j.before.borneBy(s.Active) == j.before.valid
	if j.before.anchored(anchor) && (len(blockers) == 0 || everybodyUsesIt) {
		return
	}
	j.refuse(TrustBeforeUse, object, untrustingNames(blockers),
		fmt.Sprintf("%s would sign leaves before every verifier has loaded it", s.Active.Subject), rotate)
}

// judgeNext refuses a second rotation, and dropping a CA that has signed.
func (j *judge) judgeNext(old, s *Signer) {
	object := secret(s.Name)
	switch {
	case same(old.Next, s.Next) || (old.Next == nil && s.Next == nil):
	case j.before.d.WrittenBy != "" && same(s.Next, old.Active) && s.Active != nil && slices.ContainsFunc(old.Previous, s.Active.Equal):
		// Another controller aborts a rotation of which all leaves were reissued: they move back.
	case old.Next == nil && j.before.d.Signer.Issued != nil && same(s.Next, j.before.d.Signer.Issued.Certificate):
		// The issuer signs with it already, so that it cannot wait for the rotation in flight.
	case old.Next == nil && j.inFlight() && j.before.usable(old.Active):
		j.refuse(OneRotation, object, nil, fmt.Sprintf("a rotation is in the stage %s already", j.stage),
			"wait for the stage Stable")
	case old.Next == nil:
	case s.Next == nil && same(old.Next, s.Active):
		// Promoted: judgeActive has checked the evidence.
	case len(j.before.under[old.Next.Fingerprint]) > 0 && !slices.ContainsFunc(s.Previous, old.Next.Equal):
		j.refuse(AnchorInUse, object, secrets(j.before.under[old.Next.Fingerprint]),
			fmt.Sprintf("the key of %s would be lost, and leaves are signed by it already", old.Next.Subject),
			"let the rotation end, then rotate again")
	case s.Next == nil && j.before.d.WrittenBy != "":
		// An abort: another controller has its leaves replaced before. Nothing is signed without a Secret.
	case s.Next == nil && !slices.ContainsFunc(s.Previous, old.Next.Equal):
		j.refuse(AnchorInUse, object, nil,
			fmt.Sprintf("the key of %s would be lost while its anchor is in the bundle", old.Next.Subject),
			fmt.Sprintf("abort the rotation with `kubectl certrotation abort %s`: the key is destroyed when nothing needs it", s.Name))
	case s.Next != nil && j.before.usable(old.Next):
		j.refuse(OneRotation, object, nil, "the CA of the rotation in flight would be replaced by another one",
			fmt.Sprintf("abort the rotation with `kubectl certrotation abort %s` first", s.Name))
	}
}

// judgePrevious refuses to lose a previous CA whose anchor is still needed.
func (j *judge) judgePrevious(old, s *Signer) {
	keeps := map[pki.Fingerprint]bool{}
	for _, ca := range s.Previous {
		keeps[ca.Fingerprint] = true
	}
	for _, ca := range replacedBy(old, s) {
		// A CA that was renewed with its key keeps the key.
		if keeps[ca.Fingerprint] || sameKey(ca, s.Active) || sameKey(ca, s.Next) || j.retired(ca) {
			continue
		}
		signs := func(user string) bool { return user == secret(s.Name) }
		if users := slices.DeleteFunc(j.before.neededBy(ca), signs); len(users) > 0 {
			j.refuse(AnchorInUse, secret(s.Name), users,
				fmt.Sprintf("the key of %s would be lost while its leaves are live", ca.Subject),
				"let the rotation end: the controller destroys the key when nothing needs it")
		}
	}
}

// retired reports whether the leaves of ca are no longer accepted: its anchor has left the bundle.
func (j *judge) retired(ca *pki.Certificate) bool {
	b := j.before
	return len(b.d.Bundle.Anchors) > 0 && !b.inBundle[ca.Fingerprint] && b.liveUnder(ca) == 0
}

// replacedBy returns the CAs that the signer must keep as previous after an edit: those that it kept, and a replaced
// active one. A Secret restored from a backup may also replace it.
func replacedBy(old, s *Signer) []*pki.Certificate {
	keep := old.Previous
	if old.Active != nil && s.Active != nil && !same(old.Active, s.Active) && !interchangeable(old.Active, s.Active) {
		keep = append([]*pki.Certificate{old.Active}, keep...)
	}
	return keep
}
