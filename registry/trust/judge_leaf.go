// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

func (j *judge) judgeLeaf(old, l *Leaf) {
	object := secret(l.Name)
	if belongsToOthers(&old.Object, &l.Object) {
		j.judgeAdoption(object, &l.Object)
		j.judgeIdentities(l)
		j.judgeKeystore(object, &l.Object, old.Keystore, l.Keystore)
		return
	}
	if !l.Present {
		j.judgeLeafDeletion(old)
		return
	}
	if !j.judgeContent(object, old.Problem, l.Problem) {
		return
	}
	lower := certificateOf(l.Certificate)
	if !same(old.Certificate, l.Certificate) {
		lower = anew(AnnotationIssuedAt, lower)
	}
	j.judgeAnnotations(object, &old.Object, &l.Object, lower)
	j.judgeLeafAnchors(old, l)
	j.judgeKeystore(object, &l.Object, old.Keystore, l.Keystore)
	j.judgeLeafSuperseded(old, l)
	if l.Certificate == nil || same(old.Certificate, l.Certificate) {
		return
	}
	j.judgeNewLeaf(l)
}

// judgeIdentities refuses to adopt a leaf with identities that its renewal would lose: peers may authorize by them.
func (j *judge) judgeIdentities(l *Leaf) {
	if !l.Present || l.Unadopted() || l.Unnamed || l.Certificate == nil {
		return
	}
	lost, _ := l.Certificate.Identities.Difference(&l.Policy.Profile.Identities)
	for _, usage := range l.Certificate.Usages {
		if !slices.Contains(l.Policy.Profile.Usages, usage) {
			lost = append(lost, "usage "+string(usage))
		}
	}
	way := "name them in the leaf of the configuration (uris, emailAddresses, subjectFields, usages), then adopt it"
	if unsaid := l.Certificate.Unsaid; len(unsaid) > 0 {
		lost = append(lost, unsaid...)
		way = "leave this Secret to its issuer, or delete it if no peer asks for these: " + strings.Join(unsaid, ", ")
	}
	if len(lost) > 0 {
		j.refuse(ContentDecides, secret(l.Name), nil, fmt.Sprintf("the next renewal would lose %q", lost), way)
	}
}

// judgeNewLeaf refuses a leaf that one of its verifiers would not accept (TrustBeforeUse), and one that outlives its
// signer or could itself sign (LeafWithinSigner).
func (j *judge) judgeNewLeaf(l *Leaf) {
	object := secret(l.Name)
	bundle := j.before.d.Bundle.Ref()
	reissue := fmt.Sprintf("delete %s to have it reissued by %s", object, secret(j.before.d.Signer.Name))
	if l.Certificate.IsCA {
		// It may well verify, but its holder could sign other certificates.
		j.refuse(LeafWithinSigner, object, nil,
			fmt.Sprintf("%s is a certificate authority: with the key of this leaf others could be signed", l.Certificate.Subject), reissue)
		return
	}
	if fault := j.before.unusable(l.Certificate, j.before.leaves[l.Name].Policy.Profile); fault != "" {
		j.refuse(TrustBeforeUse, object, membersOf(j.before.verifiers[l.Name]), fault, reissue)
		return
	}
	ca := j.knownTo(l)
	if ca == nil {
		j.refuse(TrustBeforeUse, object, membersOf(j.before.verifiers[l.Name]),
			fmt.Sprintf("the leaf was issued by %s, which is no anchor of %s: its verifiers would refuse it", l.Certificate.Issuer, bundle),
			fmt.Sprintf("%s, or first add the CA to %s and wait until `kubectl get bundlestatuses` shows it trusted", reissue, bundle))
		return
	}
	if ok, blockers := j.before.maySign(ca, l.Name); !ok {
		j.refuse(TrustBeforeUse, object, untrustingNames(blockers),
			fmt.Sprintf("the leaf was signed by %s, for which evidence of trust is missing", ca.Subject),
			"wait until the blockers in `kubectl get certificaterotations -o wide` are gone, or "+reissue)
	} else if j.leavesSoon(ca, l.Name) {
		// No leaf may start to need an anchor that is about to leave the bundle. Nothing else would notice it between
		// the last check and that write.
		j.refuse(TrustBeforeUse, object, nil,
			fmt.Sprintf("the leaf was signed by %s, whose anchor is about to leave the bundle", ca.Subject), reissue)
	}
	if until := j.before.acceptedUntil(ca, l.Name); j.before.d.Issuer == "" && l.Certificate.NotAfter.After(until) {
		j.refuse(LeafWithinSigner, object, nil,
			fmt.Sprintf("the leaf would live until %s, longer than its signer (%s) as far as those who verify it have loaded it",
				l.Certificate.NotAfter.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339)),
			reissue)
	}
}

// leavesSoon reports whether the anchor of ca is about to leave the bundle and a newer CA could sign the leaf. Another
// controller may move leaves back (an abort), and the guard judges its write that ends the anchor.
func (j *judge) leavesSoon(ca *pki.Certificate, leaf string) bool {
	slot := j.before.slot(ca)
	if j.before.d.WrittenBy != "" || (slot != SlotPrevious && slot != SlotRetired) || (j.stage != Draining && j.stage != Retiring) {
		return false
	}
	best, _ := j.before.bestSigner(leaf)
	return best != nil && j.before.olderThan(ca, best)
}

// judgeLeafAnchors refuses that the Secret of a leaf loses an anchor that is needed.
func (j *judge) judgeLeafAnchors(old, l *Leaf) {
	j.judgeRepetition(secret(l.Name), old.AnchorsRepeat, l.AnchorsRepeat)
	j.judgeUnread(secret(l.Name), old.UnreadAnchors, l.UnreadAnchors)
	var users []string
	lost := differenceOf(old.Anchors, l.Anchors)
	for _, ca := range lost {
		users = append(users, j.before.neededBy(ca)...)
	}
	if len(users) == 0 {
		return
	}
	j.refuse(AnchorInUse, secret(l.Name), sortedSet(users),
		fmt.Sprintf("its ca.crt would lose %s, and programs that verify by it would refuse what is still presented", subjectsOf(lost)),
		"leave ca.crt as it is: the controller keeps it as "+j.before.d.Bundle.Ref()+" is")
}

// judgeLeafDeletion refuses to delete a leaf that no CA could reissue.
func (j *judge) judgeLeafDeletion(old *Leaf) {
	if !old.Present || old.Problem != nil {
		return
	}
	d := j.before.d
	best, _ := j.before.bestSigner(old.Name)
	if best != nil && d.Signer.Problem == nil && d.Bundle.Problem == nil {
		return
	}
	j.refuse(TrustBeforeUse, secret(old.Name), nil,
		"no CA could reissue the leaf now: "+secret(d.Signer.Name)+" cannot be used",
		"repair what `kubectl describe certificaterotation "+d.Signer.Name+"` shows first")
}

// JudgeUncounted refuses an edit of a remaining leaf Secret after which a possibly live leaf no longer counts. For
// example a label turns it into a copy, or its content no longer tells which domain it belonged to. Its presenters
// would not know.
func JudgeUncounted(before, after *Domain, leaf string, now time.Time) []Violation {
	if slices.ContainsFunc(after.Leaves, func(kept Leaf) bool { return kept.Name == leaf }) {
		return nil
	}
	was := newFacts(before, now)
	l := was.leaves[leaf]
	if l == nil || !was.live(l) && (!l.Present || l.Certificate != nil) {
		return nil
	}
	j := &judge{}
	j.refuse(AnchorInUse, secret(leaf), nil, "a live leaf would count no more although its Secret stays: its anchor would leave the bundle while it lives",
		"name it again, delete the Secret when no process presents it any more, or release it in releasedLeaves")
	return j.found
}
