// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

// TestPlaceOfNewAnchors: the bundle, ca.crt beside leaves and copies have one order, which an edit of the place does
// not change.
func TestPlaceOfNewAnchors(t *testing.T) {
	type order []string
	lose := func(w *world) { w.d.Bundle.Anchors = nil }
	first := func(w *world) { w.d.Bundle.NewFirst = true }
	for name, test := range map[string]struct {
		before, after func(*world)
		want          order
	}{
		"last":                          {want: order{"old", "new"}},
		"first":                         {before: first, want: order{"new", "old"}},
		"first, asked for in flight":    {after: first, want: order{"old", "new"}},
		"last, asked for in flight":     {before: first, after: func(w *world) { w.d.Bundle.NewFirst = false }, want: order{"new", "old"}},
		"last, and the bundle is lost":  {after: lose, want: order{"old", "new"}},
		"first, and the bundle is lost": {before: first, after: lose, want: order{"new", "old"}},
		"first, and only next is lost": {before: first, after: func(w *world) {
			w.d.Bundle.Anchors = []*pki.Certificate{w.d.Signer.Active}
			for i := range w.d.Leaves {
				w.d.Leaves[i].Anchors = w.d.Bundle.Anchors
			}
		}, want: order{"new", "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := bootstrappedBeside(t)
			old := w.d.Signer.Active
			if test.before != nil {
				test.before(w)
			}
			publishedNext(w)
			if test.after != nil {
				test.after(w)
				w.settle()
			}
			names := map[pki.Fingerprint]string{old.Fingerprint: "old", w.d.Signer.Next.Fingerprint: "new"}
			of := func(anchors []*pki.Certificate) (out order) {
				for _, ca := range anchors {
					out = append(out, names[ca.Fingerprint])
				}
				return out
			}
			for place, anchors := range map[string][]*pki.Certificate{
				"the bundle": w.d.Bundle.Anchors, "ca.crt": w.leaf("server").Anchors,
				"a copy": AssessBundleCopy(&w.d, []*pki.Certificate{old}, w.now).Anchors,
			} {
				if diff := cmp.Diff(test.want, of(anchors)); diff != "" {
					t.Errorf("order in %s (-want +got):\n%s", place, diff)
				}
			}
			for range 10 {
				w.reloadAll()
				w.settle()
			}
			if diff := cmp.Diff(order{"new"}, of(w.d.Bundle.Anchors)); diff != "" || w.assess().Stage != Stable {
				t.Errorf("stage %s, and in the bundle (-want +got):\n%s", w.assess().Stage, diff)
			}
		})
	}
}
