// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "fmt"

// judgeIssuers refuses to forget the root of a CA, or to replace it by one that verifiers may not have.
func (j *judge) judgeIssuers(old, s *Signer) {
	if len(old.Issuers) == 0 {
		return
	}
	for _, ca := range s.slots() {
		was, is := j.before.d.AnchorOf(ca), j.after.AnchorOf(ca)
		if same(was, ca) || same(was, is) || j.before.inBundle[is.Fingerprint] && len(j.before.waitsForTrust(j.before.parties, is)) == 0 {
			continue
		}
		j.refuse(TrustBeforeUse, secret(s.Name), untrustingNames(j.before.waitsForTrust(j.before.parties, is)),
			fmt.Sprintf("the anchor of %s would be %s in place of its root %s, which its verifiers have", ca.Subject, is.Subject, was.Subject),
			"leave the issuers in tls.crt and ca.crt as they are: they change with the CA")
	}
}

// judgeRequest refuses to lose the key for which a CA was requested, other than into the slot next or by an abort.
func (j *judge) judgeRequest(old, s *Signer) {
	asked := old.Request
	if asked == nil || s.Request != nil && s.Request.PublicKeyHash == asked.PublicKeyHash ||
		s.Next != nil && s.Next.PublicKeyHash == asked.PublicKeyHash || j.before.abortRequest() != nil {
		return
	}
	j.refuse(ContentDecides, secret(s.Name), nil,
		fmt.Sprintf("the key of %s would be lost, and its issuer may sign the request meanwhile", asked.Subject),
		fmt.Sprintf("give the request up with `kubectl certrotation abort -n %s %s`", j.before.d.Namespace, s.Name))
}
