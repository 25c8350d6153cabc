// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

// TestUnknownIsNotUntrusting: in the stage Stable evidence is not renewed, so lapsed evidence counts as unknown.
func TestUnknownIsNotUntrusting(t *testing.T) {
	tests := map[string]struct {
		change               func(w *world)
		signer, leaf, anchor certrotation.TrustCount
	}{
		"all are known": {
			signer: certrotation.TrustCount{Trusted: 1, Total: 2}, leaf: certrotation.TrustCount{Trusted: 1, Total: 1},
			anchor: certrotation.TrustCount{Trusted: 1, Total: 2},
		},
		"one has lapsed": {
			change: func(w *world) {
				w.lapse(0)
				w.assessment.Leaves[0].Trusted, w.assessment.Anchors[0].Trusted = 0, 0
			},
			signer: certrotation.TrustCount{Total: 2, Unknown: 1}, leaf: certrotation.TrustCount{Total: 1, Unknown: 1},
			anchor: certrotation.TrustCount{Total: 2, Unknown: 1},
		},
		"all have lapsed": {
			change: func(w *world) {
				w.lapse(0)
				w.lapse(1)
				w.assessment.Leaves[0].Trusted, w.assessment.Anchors[0].Trusted = 0, 0
			},
			signer: certrotation.TrustCount{Total: 2, Unknown: 2}, leaf: certrotation.TrustCount{Total: 1, Unknown: 1},
			anchor: certrotation.TrustCount{Total: 2, Unknown: 2},
		},
		"one verifies nothing": {
			change: func(w *world) { w.assessment.Members[1].Verifies = false },
			signer: certrotation.TrustCount{Trusted: 1, Total: 1}, leaf: certrotation.TrustCount{Trusted: 1, Total: 1},
			anchor: certrotation.TrustCount{Trusted: 1, Total: 2},
		},
		"one of the roster has lapsed": {
			change: func(w *world) {
				w.domain.Parties[0].Members = nil
				w.domain.Roster = &trust.Roster{Members: []trust.RosterMember{{Party: "client", Member: "client", Verifies: []string{"server"}}}}
				w.lapse(0)
				w.assessment.Leaves[0].Trusted = 0
			},
			signer: certrotation.TrustCount{Total: 2, Unknown: 1}, leaf: certrotation.TrustCount{Total: 1, Unknown: 1},
			anchor: certrotation.TrustCount{Trusted: 1, Total: 2, Unknown: 1},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.domain.Parties[0].Verifies = []string{"server"}
			if tt.change != nil {
				tt.change(w)
			}
			objects := w.render(nil)
			want := []certrotation.TrustCount{tt.signer, tt.leaf, tt.anchor, tt.signer}
			got := []certrotation.TrustCount{
				objects.Certificates["signer"].Status.Trust, objects.Certificates["server"].Status.Trust,
				objects.Bundles["bundle"].Status.Anchors[0].Trust, objects.Bundles["bundle"].Status.Trust,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("trust of signer, leaf, anchor and bundle (-want +got):\n%s", diff)
			}
		})
	}
}

func (w *world) lapse(member int) {
	w.assessment.Members[member].Known, w.assessment.Members[member].Trusted = false, false
}

func TestMembers(t *testing.T) {
	w := newWorld(t)
	until := start().Add(time.Hour)
	w.domain.Roster = &trust.Roster{Members: []trust.RosterMember{{Party: "former", Member: "former", Presents: []string{"server"}}}}
	w.assessment.Members = []trust.MemberAssessment{
		{Party: "client", Member: "client", Kind: trust.None, Verifies: true, Known: true, Trusted: true, Reason: "they click it away"},
		{Party: "server", Member: "server-0", Kind: trust.TLSProbe, Verifies: true, Trusted: true, LastChange: start(),
			Waiver: &trust.Waiver{Party: "server", Member: "server-0", Reason: "off", By: "ada", Expires: until}},
		{Party: "former", Member: "former", Kind: trust.Acknowledgement, Message: "has never acknowledged"},
	}
	want := []certrotation.MemberStatus{
		{Party: "client", Member: "client", Evidence: "none", Known: true, Trusted: true, Reason: "they click it away"},
		{Party: "server", Member: "server-0", Evidence: "tlsProbe", Trusted: true, LastChange: toTimePointer(start()),
			Waiver: &certrotation.MemberWaiver{Reason: "off", WaivedBy: "ada", Expires: metav1.NewTime(until)}},
		{Party: "former", Member: "former", Evidence: "acknowledgement", VerifiesNothing: true, Message: "has never acknowledged"},
	}
	objects := w.render(nil)
	if diff := cmp.Diff(want, objects.Certificates["signer"].Status.Members); diff != "" {
		t.Errorf("members of the signer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], objects.Certificates["server"].Status.Members); diff != "" {
		t.Errorf("members that hold the leaf (-want +got):\n%s", diff)
	}
}

// TestRenewalIsNoChange: renewed evidence with the same content causes no event.
func TestRenewalIsNoChange(t *testing.T) {
	w := newWorld(t)
	w.assessment.Members[0].LastChange = start()
	first := w.render(nil)
	w.assessment.Members[0].LastChange = start().Add(time.Minute)
	if diff := cmp.Diff(first, w.render(first)); diff != "" {
		t.Errorf("a renewal has changed the objects (-want +got):\n%s", diff)
	}
	w.assessment.Members[0].Trusted = false
	if got := w.render(first).Certificates["signer"].Status.Members[0].LastChange; !got.Time.Equal(start().Add(time.Minute)) {
		t.Errorf("last change at %v, want that of the news", got)
	}
}

func TestRefusedWrites(t *testing.T) {
	refused := func(object string) trust.Blocker {
		return trust.Blocker{Object: object, Reason: trust.ReasonWriteRefused, Message: "the API server refuses to update it: it is immutable"}
	}
	tests := map[string]struct {
		object string
		// blocked tells which of signer, leaf and bundle have the condition.
		blocked [3]bool
	}{
		"a leaf":   {object: "Secret/server", blocked: [3]bool{false, true, false}},
		"a bundle": {object: "ConfigMap/bundle", blocked: [3]bool{false, false, true}},
		"a roster": {object: "RotationRecord/roster.demo"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.assessment.Blockers = []trust.Blocker{refused(tt.object)}
			// Another action is possible.
			w.assessment.Actions = []trust.Action{{Kind: trust.Promote, ObjectKind: trust.SecretKind, Object: "signer"}}
			objects := w.render(nil)
			got := [3]bool{}
			for i, conditions := range [][]metav1.Condition{
				objects.Certificates["signer"].Status.Conditions, objects.Certificates["server"].Status.Conditions, objects.Bundles["bundle"].Status.Conditions,
			} {
				got[i] = find(conditions, certrotation.ConditionBlocked).Status == metav1.ConditionTrue
			}
			if got != tt.blocked {
				t.Errorf("blocked are %v of signer, leaf and bundle, want %v", got, tt.blocked)
			}
			if blockers := objects.Certificates["signer"].Status.Blockers; len(blockers) != 1 || blockers[0].Object != tt.object {
				t.Errorf("blockers of the signer %v", blockers)
			}
			if blockers := objects.Certificates["server"].Status.Blockers; (len(blockers) == 1) != tt.blocked[1] {
				t.Errorf("blockers of the leaf %v", blockers)
			}
		})
	}
}
