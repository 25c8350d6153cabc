// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// compromised says whether a CA was declared compromised when its rotation began. Such a rotation takes the same safe path,
// as nothing else keeps handshakes alive, but it is not paced, and the compromised CA signs nothing any more except what is
// missing or expired.
func (a *assessor) compromised(ca *pki.Certificate) bool {
	return ca != nil && a.d.Signer.Annotations[AnnotationCompromised] == string(ca.Fingerprint)
}

// anyCompromised says whether a CA of the slots is.
func (a *assessor) anyCompromised() bool {
	s := &a.d.Signer
	return a.compromised(s.Next) || a.compromised(s.Active) || slices.ContainsFunc(s.Previous, a.compromised)
}

// declaresCompromise says whether the pending request is about a compromised key.
func (a *assessor) declaresCompromise() bool {
	r := a.rotateRequest(&a.d.Signer.Object)
	return r != nil && r.Compromised
}

// breaksNow lists the leaves, with those who verify them, that would be refused if the active CA were distrusted at once.
func (a *assessor) breaksNow() []string {
	if a.d.Signer.Active == nil {
		return nil
	}
	var out []string
	for _, leaf := range a.under[a.d.Signer.Active.Fingerprint] {
		_, name, _ := strings.Cut(leaf, "/")
		out = append(out, leaf+" at "+strings.Join(membersOf(a.verifiers[name]), ", "))
	}
	return out
}
