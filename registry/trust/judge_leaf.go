// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"
)

func (j *judge) judgeLeaf(old, l *Leaf) {
	object := secret(l.Name)
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
	if l.Certificate == nil || same(old.Certificate, l.Certificate) {
		return
	}
	j.judgeNewLeaf(l)
}

// judgeNewLeaf refuses a leaf that somebody who verifies it would not accept (TrustBeforeUse), and one that outlives
// its signer or could sign as it does (LeafWithinSigner).
func (j *judge) judgeNewLeaf(l *Leaf) {
	object := secret(l.Name)
	bundle := configMap(j.before.d.Bundle.Name)
	reissue := fmt.Sprintf("delete %s to have it reissued by %s", object, secret(j.before.d.Signer.Name))
	if l.Certificate.IsCA {
		// It may well verify, but whoever holds the leaf could sign others.
		j.refuse(LeafWithinSigner, object, nil,
			fmt.Sprintf("%s is a certificate authority: with the key of this leaf others could be signed", l.Certificate.Subject), reissue)
		return
	}
	ca := j.knownTo(l.Certificate)
	if ca == nil {
		var affected []string
		for _, p := range j.before.verifiers[l.Name] {
			for i := range p.Members {
				affected = append(affected, p.Name+"/"+p.Members[i].Name)
			}
		}
		j.refuse(TrustBeforeUse, object, affected,
			fmt.Sprintf("the leaf was issued by %s, which is no anchor of %s: whoever verifies it would refuse it", l.Certificate.Issuer, bundle),
			fmt.Sprintf("%s, or first add the CA to %s and wait until `kubectl get bundlestatuses` shows it trusted", reissue, bundle))
		return
	}
	if ok, blockers := j.before.maySign(ca, l.Name); !ok {
		j.refuse(TrustBeforeUse, object, untrustingNames(blockers),
			fmt.Sprintf("the leaf was signed by %s, for which evidence of trust is missing", ca.Subject),
			"wait until the blockers in `kubectl get certificaterotations -o wide` are gone, or "+reissue)
	}
	if l.Certificate.NotAfter.After(ca.NotAfter) {
		j.refuse(LeafWithinSigner, object, nil,
			fmt.Sprintf("the leaf would live until %s, longer than its signer (%s)",
				l.Certificate.NotAfter.UTC().Format(time.RFC3339), ca.NotAfter.UTC().Format(time.RFC3339)),
			reissue)
	}
}

// judgeLeafDeletion refuses to delete a leaf that nothing could reissue.
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
