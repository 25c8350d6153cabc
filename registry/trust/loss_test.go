// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// loses deletes all objects of the domain past the guard, after all evidence has lapsed. Only the roster is left.
func (f *fleet) loses() {
	f.pass(lease)
	deleteSigner(&f.d)
	deleteBundle(&f.d)
	for _, name := range f.names() {
		deleteLeaf(name)(&f.d)
	}
}

// TestLossStories: a member that is known to have run is not new, even if no Secret shows it.
func TestLossStories(t *testing.T) {
	tellAll(t, []story{{
		name: "everything is lost but the roster",
		former: func(d *Domain) {
			if d.Roster != nil && d.Signer.Active == nil {
				forgotten := *d.Roster
				forgotten.Issued = false
				d.Roster = &forgotten
			}
		},
		tell: func(f *fleet) error {
			f.loses()
			f.settle()
			// No process has loaded anything since.
			if err := errors.Join(f.checkHandshakes(), f.checkReloads()); err != nil {
				return err
			}
			return f.holds(ReasonNotObserved)
		},
	}})
}

// TestLossEnds: the rotation after a loss ends once the members show the new CA, or are waived.
func TestLossEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		laggards []string
		help     func(f *fleet)
	}{
		"all load the new CA": {},
		"one is waived": {laggards: []string{"client-0"}, help: func(f *fleet) {
			f.d.Waivers = []Waiver{{Party: "client-0", Member: "client-0", Reason: "it is off", Expires: f.now.Add(day), Rotation: RotationOf(&f.d)}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := mutual(t)
			f.loses()
			f.reloadBy(tt.laggards...)
			if tt.help != nil {
				if err := f.holds(ReasonNotObserved); err != nil {
					t.Fatal(err)
				}
				tt.help(f)
				f.reloadBy(tt.laggards...)
			}
			if err := f.ends(); err != nil {
				t.Error(err)
			}
			if slices.Contains(f.done, string(GenerateActive)+" signer") {
				t.Errorf("a CA signs at once: %v", f.done)
			}
		})
	}
}

// checkReloads returns the process that would refuse a leaf in its present Secret.
func (f *fleet) checkReloads() error {
	for _, verifier := range f.processes {
		for _, name := range verifier.party.Verifies {
			c := f.published(name)
			if c == nil {
				continue
			}
			if err := f.verify(c, verifier.trust); err != nil {
				return fmt.Errorf("%s would refuse the leaf %s: %w", verifier.member.Name, name, err)
			}
		}
	}
	return nil
}

// reloadBy is followedBy without its checks: a process that loads the bundle without the former anchor refuses the
// former leaves.
func (f *fleet) reloadBy(laggards ...string) {
	for range 8 {
		f.settle()
		for _, p := range f.processes {
			if !slices.Contains(laggards, p.party.Name) {
				f.load(p)
				f.observe(p)
			}
		}
		f.pass(time.Minute)
	}
}

// TestNodeReplacedAfterALoss: a new machine may hold the leaf of the former one, until a person waives it.
func TestNodeReplacedAfterALoss(t *testing.T) {
	f := mutual(t)
	f.onNode("client-0", "former")
	f.party("client-0").Verifies = append(f.party("client-0").Verifies, "client-0")
	if err := f.settled(); err != nil {
		t.Fatal(err)
	}
	deleteSigner(&f.d)
	f.orphaned = true
	if err := f.settled(); err != nil {
		t.Fatal(err)
	}
	f.onNode("client-0", "new")
	f.leaf("client-0").Policy.Profile.DNSNames = []string{"new.example"}
	f.process("client-0").member.Observations = nil
	f.process("client-0").leaves, f.process("client-0").down = map[string]*pki.Certificate{}, true
	f.d.Absences = map[string]string{"client-0/client-0/former": "its node is gone"}
	if err := f.followedBy("client-0"); err != nil {
		t.Fatal(err)
	}
	if err := f.holds(ReasonNotObserved); err != nil {
		t.Fatal(err)
	}
	f.d.Waivers = []Waiver{{Party: "client-0", Member: "client-0", Reason: "it is new", Expires: f.now.Add(day), Rotation: RotationOf(&f.d)}}
	if err := f.followedBy("client-0"); err != nil {
		t.Fatal(err)
	}
	if err := f.comesUp("client-0"); err != nil {
		t.Error(err)
	}
}

// TestFirstLeavesAreRecorded: the roster records that leaves are issued before the first one is.
func TestFirstLeavesAreRecorded(t *testing.T) {
	w := newWorld(t)
	for !w.leaf("server").Present {
		if w.d.Roster != nil && w.d.Signer.Active == nil && w.d.Roster.Issued {
			t.Fatal("it is recorded before there is a CA")
		}
		if issued := slices.ContainsFunc(w.assess().Actions, func(a Action) bool { return a.Kind == IssueLeaf }); issued && !w.d.Roster.Issued {
			t.Fatal("leaves are issued before that is recorded")
		}
		if !w.step() {
			t.Fatalf("no leaf is issued: %+v", w.assess().Blockers)
		}
	}
	first := newWorld(t)
	first.d.Refusals = []RefusedWrite{{Object: "RotationRecord/" + RosterRecord("service"), Verb: "update", Since: start.Add(time.Hour)}}
	first.d.Roster, first.d.Signer, first.d.Bundle = w.d.Roster, w.d.Signer, w.d.Bundle
	forgotten := *w.d.Roster
	forgotten.Issued = false
	first.d.Roster = &forgotten
	for _, a := range first.assess().Actions {
		t.Errorf("%s %s, though it cannot be recorded that leaves are issued", a.Kind, a.Object)
	}
}

// TestNodeComesBackWithAnotherAddress: its process may run with the leaf that was issued to that name before.
func TestNodeComesBackWithAnotherAddress(t *testing.T) {
	f := mutual(t)
	f.onNode("client-0", "first")
	f.until(RecordRoster)
	f.settle()
	f.request("test")
	if err := f.settled(); err != nil {
		t.Fatal(err)
	}
	f.d.Absences = map[string]string{"client-0/client-0/first": "no Node and no pod has its UID"}
	f.onNode("client-0", "second")
	f.process("client-0").member.Observations = nil
	f.leaf("client-0").Policy.Profile.DNSNames = []string{"another.example"}
	if err := f.followedBy("client-0"); err != nil {
		t.Fatal(err)
	}
	if err := f.holds(ReasonNotObserved); err != nil {
		t.Error(err)
	}
	if err := f.followedBy(); err != nil {
		t.Fatal(err)
	}
	if err := f.ends(); err != nil {
		t.Error(err)
	}
}

// TestLostLeafOfWhatRestarts: signer and leaves are lost, and pods that read their files only at start verify their
// own leaf. No pod starts without it, so no restart is due. The blocker names the ways out, and each is one.
func TestLostLeafOfWhatRestarts(t *testing.T) {
	for name, person := range map[string]func(w *startWorld, lost *Domain){
		"the Secret is restored": func(w *startWorld, lost *Domain) {
			restored := w.clone()
			*restored.Leaf("client-a") = *lost.Leaf("client-a")
			if refused := Judge(&w.d, restored, w.now); len(refused) > 0 {
				w.t.Fatalf("the restored Secret is refused: %+v", refused)
			}
			w.d = *restored
		},
		"the pod is deleted": func(w *startWorld, _ *Domain) {
			p := w.starters()
			w.gone(&p.Members[0])
			p.Members = nil
			w.scaleUp(webWorkload)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStartWorld(t, webWorkload)
			w.starters().Verifies = []string{"client-a", "server"}
			lost := w.clone()
			deleteSigner(&w.d)
			for _, leaf := range []string{"client-a", "client-b", "server"} {
				deleteLeaf(leaf)(&w.d)
			}
			w.follow()
			blockers := w.assess().Blockers
			cure := "if they wait for each other, restore that Secret from a backup, or delete the pod"
			if !slices.ContainsFunc(blockers, func(b Blocker) bool { return b.Member == "pod-1" && strings.Contains(b.Message, cure) }) || len(w.restarts) > 0 {
				t.Fatalf("blockers %+v, restarts %+v, %v; want %q", blockers, w.restarts, w.done, cure)
			}
			person(w, lost)
			w.follow()
			if a := w.assess(); a.Stage != Stable || len(a.Blockers) > 0 || w.refused() != "" {
				t.Errorf("it is %s, %+v %s", a.Stage, a.Blockers, w.refused())
			}
		})
	}
}
