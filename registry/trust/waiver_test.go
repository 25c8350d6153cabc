// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"
)

func TestWaiver(t *testing.T) {
	f := mutual(t)
	f.request("test")
	if err := f.followedBy("client-0"); err != nil {
		t.Fatal(err)
	}
	if err := f.holds(ReasonAnchorNotLoaded); err != nil {
		t.Fatal(err)
	}
	f.waive("client-0")
	f.settle()
	if slices.Contains(f.done, "Promote signer") {
		t.Fatal("a waiver outweighs that the member was seen alive without the new CA")
	}
	if until := Contradicted(&f.d, "client-0", "client-0", f.now); !until.After(f.now) {
		t.Errorf("nothing says that the waiver does not count yet: %s", until)
	}
	f.member("client-0").Observations = nil
	a := f.assess()
	if a.Recheck.After(f.now.Add(time.Hour)) || a.Recheck.IsZero() {
		t.Errorf("recheck at %s, after the end of the waiver", a.Recheck)
	}
	i := slices.IndexFunc(a.Members, func(m MemberAssessment) bool { return m.Member == "client-0" })
	if w := a.Members[i].Waiver; w == nil || w.By != "jane" {
		t.Errorf("the member is shown with the waiver %+v", w)
	}
	f.pass(time.Hour)
	f.settle()
	if slices.Contains(f.done, "Promote signer") {
		t.Fatal("a waiver that has ended has the rotation go on")
	}
	f.d.Waivers[0].Expires = f.now.Add(time.Hour)
	for range 6 {
		f.settle()
		for _, p := range f.processes {
			if p.party.Name != "client-0" {
				f.load(p)
				f.observe(p)
			}
		}
	}
	if err := f.ends(); err != nil {
		t.Error(err)
	}
}

// waive adds a waiver as the API does.
func (w *world) waive(party string) {
	w.d.Waivers = append(w.d.Waivers, Waiver{
		Party: party, Member: w.member(party).Name, Reason: "it is broken", By: "jane", Expires: w.now.Add(time.Hour), Rotation: RotationOf(&w.d),
	})
}

// TestWaiverIsForOneRotation: a waiver given in any stage is in force until the rotation ends, also through an
// abort. It does not apply to the next rotation, although an aborted one has left the same CA active.
func TestWaiverIsForOneRotation(t *testing.T) {
	for name, give := range map[string]struct {
		stage Stage
		abort bool
	}{
		"at rest": {stage: Stable}, "while it distributes": {stage: Distributing}, "after the promotion": {stage: Reissuing},
		"while it drains": {stage: Draining}, "before an abort": {stage: Distributing, abort: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			if give.stage != Stable {
				inStage(give.stage)(w)
			}
			w.waive("client-a")
			w.d.Waivers[0].Expires = w.now.Add(30 * day)
			inForce := func() bool { return decide(&w.d, w.now).waiver(w.party("client-a"), w.member("client-a")) != nil }
			if give.abort {
				w.abort()
			}
			for range 12 {
				if w.assess().InFlight() && !inForce() {
					t.Fatalf("it is not in force in the stage %s of its rotation", w.assess().Stage)
				}
				if !w.step() {
					if w.assess().Stage == Stable {
						break
					}
					w.reloadAll()
				}
			}
			if a := w.settle(); a.Stage != Stable {
				t.Fatalf("the rotation does not end: %s", outline(a))
			}
			w.reloadAll()
			w.request("the next one")
			w.settle()
			if inForce() {
				t.Error("it is in force in the next rotation")
			}
		})
	}
}
