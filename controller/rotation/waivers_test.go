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
			waiver := w.waive("clients", "a", time.Hour)
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

// waive waives a member for that long, as the API does.
func (w *world) waive(party, member string, lasts time.Duration) *trust.Waiver {
	w.t.Helper()
	waiver := &trust.Waiver{
		Party: party, Member: member, Reason: "it was dismantled", By: "jane", Expires: w.clock.Now().Add(lasts), Rotation: trust.RotationOf(w.domain()),
	}
	if err := trust.CheckWaiver(w.domain(), waiver, w.clock.Now()); err != nil {
		w.t.Fatal(err)
	}
	made, err := record.OfWaiver(testNamespace, "web", waiver)
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
	return waiver
}
