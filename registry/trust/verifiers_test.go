// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"

	"certrotation.dev/test/verifiers"
)

// TestAnchorThatGoDoesNotSee: a leaf whose issuer crypto/x509 does not find, and OpenSSL does, needs the anchor of that
// issuer until it is reissued.
func TestAnchorThatGoDoesNotSee(t *testing.T) {
	for _, shape := range []string{"issuer as a PrintableString", "issuer in lower case", "SHA-1"} {
		t.Run(shape, func(t *testing.T) {
			p, err := verifiers.Shaped(start, shape)
			if err != nil {
				t.Fatal(err)
			}
			anchor, leaf, err := p.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			w := bootstrapped(t)
			w.d.Bundle.Anchors = append(slices.Clone(w.d.Bundle.Anchors), anchor)
			w.leaf("server").Certificate = leaf
			without := func() *Domain {
				after := w.clone()
				after.Bundle.Anchors = slices.DeleteFunc(slices.Clone(after.Bundle.Anchors), anchor.Equal)
				return after
			}
			safe := func() bool {
				all := w.assess().Anchors
				at := slices.IndexFunc(all, func(a AnchorAssessment) bool { return anchor.Equal(a.Certificate) })
				return all[at].SafeToRemove
			}
			if safe() {
				t.Error("the anchor is safe to remove")
			}
			if refused := Judge(&w.d, without(), w.now); len(refused) != 1 || refused[0].Invariant != AnchorInUse {
				t.Errorf("its removal: %+v", refused)
			}
			w.settle()
			w.reloadAll()
			w.settle()
			if !slices.Contains(w.done, "IssueLeaf server") || !safe() {
				t.Errorf("after %v: %+v", w.done, w.assess().Anchors)
			}
			if refused := Judge(&w.d, without(), w.now); len(refused) > 0 {
				t.Errorf("its removal when nothing needs it: %+v", refused)
			}
		})
	}
}
