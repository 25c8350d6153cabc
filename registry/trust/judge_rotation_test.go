// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"
)

// TestJudgeAcceptsTheController plays whole rotations and judges every write.
func TestJudgeAcceptsTheController(t *testing.T) {
	two := topology{servers: []EvidenceKind{TLSProbe, GracePeriod}, clients: []EvidenceKind{Acknowledgement, Renewed}, peers: true}
	tests := []struct {
		name string
		// at is called before each round of actions.
		at func(f *fleet, round int)
	}{
		{"everybody is fast", func(f *fleet, _ int) { f.loadAll() }},
		{"one client is slow", func(f *fleet, round int) {
			for _, p := range f.processes {
				if p.member.Name != "client-0" || round > 8 {
					f.load(p)
					f.observe(p)
				}
			}
		}},
		{"members restart all the time", func(f *fleet, round int) {
			f.loadAll()
			f.restart(f.processes[round%len(f.processes)])
		}},
		{"aborted", func(f *fleet, round int) {
			if round == 0 {
				f.abort()
			} else {
				f.loadAll()
			}
		}},
		{"aborted too late", func(f *fleet, round int) {
			f.loadAll()
			if round == 2 {
				f.abort()
			}
		}},
		{"signer lost", func(f *fleet, round int) {
			if round == 3 {
				deleteSigner(&f.d)
				f.orphaned = true
			}
			f.loadAll()
		}},
		{"bundle lost", func(f *fleet, round int) {
			if round == 3 {
				deleteBundle(&f.d)
			}
			f.loadAll()
		}},
		{"leaf lost", func(f *fleet, round int) {
			if round == 3 {
				deleteLeaf("server-0")(&f.d)
			}
			f.loadAll()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, two)
			f.request("test")
			f.until(PublishAnchors)
			for round := range 60 {
				tt.at(f, round)
				if actions := f.assess().Actions; len(actions) > 0 {
					if found := f.act(&actions[0]); len(found) > 0 {
						t.Fatalf("%s %s is refused: %+v", actions[0].Kind, actions[0].Object, found)
					}
				}
				if err := f.check(); err != nil {
					t.Fatalf("after %v: %v", f.done, err)
				}
				f.pass(20 * time.Minute)
			}
			f.loadAll()
			if a := f.settle(); a.Stage != Stable || len(f.d.Bundle.Anchors) != 1 {
				t.Errorf("%s with %d anchors after %v", a.Stage, len(f.d.Bundle.Anchors), f.done)
			}
		})
	}
}
