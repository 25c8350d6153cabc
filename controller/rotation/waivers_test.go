// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// TestWaiverIsAnEvent: one event tells who waives a member, why and until when. Another tells that the waiver
// ended.
func TestWaiverIsAnEvent(t *testing.T) {
	for _, tc := range []struct {
		name string
		// ends makes the waiver end.
		ends func(w *world)
	}{
		{"it expires", func(w *world) { w.clock.Step(time.Hour) }},
		{"its record is deleted", func(w *world) {
			for _, r := range w.records("Waiver") {
				w.drop(r)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, c := settled(t)
			waiver := &trust.Waiver{Party: "clients", Member: "a", Reason: "it was dismantled", By: "jane", Expires: w.clock.Now().Add(time.Hour)}
			waiver.Rotation = trust.RotationOf(w.domain())
			made, err := record.OfWaiver(testNamespace, "web", waiver)
			if err != nil {
				t.Fatal(err)
			}
			w.put(made)
			said := func() []string {
				var out []string
				for _, e := range w.events.all {
					if strings.Contains(e, EventMemberWaived) || strings.Contains(e, EventWaiverEnded) {
						out = append(out, e)
					}
				}
				return out
			}
			for range 3 {
				w.look(c)
			}
			want := []string{"Warning MemberWaived Secret/web-signer: jane has the rotation go on without the evidence of clients/a until " +
				waiver.Expires.Format(time.RFC3339) + ": it was dismantled"}
			if diff := cmp.Diff(want, said()); diff != "" {
				t.Errorf("when it begins (-want +got):\n%s", diff)
			}
			tc.ends(w)
			for range 3 {
				w.look(c)
			}
			want = append(want, "Normal WaiverEnded Secret/web-signer: the waiver of clients/a by jane does not hold any more")
			if diff := cmp.Diff(want, said()); diff != "" {
				t.Errorf("when it ends (-want +got):\n%s", diff)
			}
		})
	}
}
