// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"testing"
	"time"
)

// TestJudgeForgivesAClockThatIsBehind: the clock of a new leader may be behind that of the former one. Objects
// that it makes anew carry earlier times, which must not count as an attempt to lower what was recorded.
func TestJudgeForgivesAClockThatIsBehind(t *testing.T) {
	const behind = -2 * time.Minute
	tests := []struct {
		name, annotation string
		edit             func(w *world, d *Domain) *Object
		refused          bool
	}{
		{
			name: "a leaf that is issued anew", annotation: AnnotationIssuedAt,
			edit: func(w *world, d *Domain) *Object {
				pair, err := w.keys[d.Signer.Active.Fingerprint].Issue(d.Leaves[0].Policy.Profile, w.now.Add(behind))
				if err != nil {
					t.Fatal(err)
				}
				d.Leaves[0].Certificate, d.Leaves[0].Authorities = pair.Certificate, pair.Chain
				maps.Copy(d.Leaves[0].Annotations, MetadataOfLeaf(d.Name, pair.Certificate, d.Leaves[0].Policy, w.now).Annotations)
				return &d.Leaves[0].Object
			},
		},
		{
			name: "a leaf that stays", annotation: AnnotationIssuedAt, refused: true,
			edit: func(_ *world, d *Domain) *Object { return &d.Leaves[0].Object },
		},
		{
			name: "a signer that is promoted", annotation: AnnotationPromotedAt,
			edit: func(_ *world, d *Domain) *Object {
				d.Signer.Previous = append(d.Signer.Previous, d.Signer.Active)
				d.Signer.Active, d.Signer.Next = d.Signer.Next, nil
				maps.Copy(d.Signer.Annotations, MetadataOfSigner(d.Name, d.Signer.Active, d.Signer.Policy).Annotations)
				return &d.Signer.Object
			},
		},
		{
			name: "a signer that stays", annotation: AnnotationPromotedAt, refused: true,
			edit: func(_ *world, d *Domain) *Object { return &d.Signer.Object },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			w.request("test")
			w.step()
			w.step()
			w.reloadAll()
			w.d.Signer.Annotations[AnnotationPromotedAt] = stamp(w.now)
			after := w.clone()
			tt.edit(w, after).Annotations[tt.annotation] = stamp(w.now.Add(behind))
			found := Judge(w.clone(), after, w.now)
			if (len(found) > 0) != tt.refused {
				t.Errorf("refused %t, want %t: %+v", len(found) > 0, tt.refused, found)
			}
		})
	}
}
