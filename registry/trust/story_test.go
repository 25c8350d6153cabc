// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// story is a fault that the model must prevent. It runs twice: the model must pass it, and must fail it after
// former has removed the facts that prevent the fault.
type story struct {
	name   string
	former func(*Domain)
	tell   func(f *fleet) error
}

func (s *story) run(t *testing.T) {
	t.Helper()
	mutual := topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement, Acknowledgement}}
	t.Run(s.name, func(t *testing.T) {
		if err := s.tell(newFleet(t, mutual)); err != nil {
			t.Error(err)
		}
		f := newFleet(t, mutual)
		f.former = s.former
		if err := s.tell(f); err == nil {
			t.Error("the former model comes through it as well")
		} else {
			t.Logf("the former model: %v", err)
		}
	})
}

func tellAll(t *testing.T, stories []story) {
	t.Helper()
	for i := range stories {
		stories[i].run(t)
	}
}

// settled performs all actions, and returns the first broken promise.
func (f *fleet) settled() error {
	for range 60 {
		actions := f.assess().Actions
		if len(actions) == 0 {
			return nil
		}
		f.perform(&actions[0])
		if err := f.check(); err != nil {
			return fmt.Errorf("%s %s: %w", actions[0].Kind, actions[0].Object, err)
		}
	}
	return errors.New("no end of actions")
}

// followedBy makes all processes but the laggards load and be observed, until nothing changes any more.
func (f *fleet) followedBy(laggards ...string) error {
	for range 8 {
		if err := f.settled(); err != nil {
			return err
		}
		for _, p := range f.processes {
			if !slices.Contains(laggards, p.party.Name) {
				f.load(p)
				f.observe(p)
			}
		}
		if err := f.check(); err != nil {
			return err
		}
		f.pass(time.Minute)
	}
	return nil
}

// holds fails unless the rotation waits for this reason.
func (f *fleet) holds(reason Reason) error {
	a := f.assess()
	if !a.InFlight() || !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == reason }) {
		return fmt.Errorf("it does not wait because of %s: stage %s, blockers %+v, done %v", reason, a.Stage, a.Blockers, f.done)
	}
	return nil
}

// ends fails unless the rotation has ended.
func (f *fleet) ends() error {
	if a := f.assess(); a.Stage != Stable || len(f.d.Bundle.Anchors) != 1 {
		return fmt.Errorf("it does not end: stage %s, blockers %+v, done %v", a.Stage, a.Blockers, f.done)
	}
	return nil
}

// remove removes a party from the configuration. Its process keeps running.
func (f *fleet) remove(party string) {
	f.d.Parties = slices.DeleteFunc(slices.Clone(f.d.Parties), func(p Party) bool { return p.Name == party })
}

// onNode makes the member of a party a node's member.
func (f *fleet) onNode(party, uid string) {
	f.party(party).Members[0].Instance = uid
}

// forgetsTheRoster replaces the roster by the present configuration.
func forgetsTheRoster(d *Domain) {
	d.Roster = nil
	d.Roster = newChoice(decide(d, start)).record
}

// nobodyIsEverybody adds a party without evidence that verifies and presents all leaves. Then a leaf without other
// verifiers or holders needs no evidence.
func nobodyIsEverybody(d *Domain) {
	p := Party{Name: "nobody", Kind: None, Members: []Member{{Name: "nobody"}}}
	for i := range d.Leaves {
		p.Verifies = append(p.Verifies, d.Leaves[i].Name)
		p.Members[0].Holds = append(p.Members[0].Holds, d.Leaves[i].Name)
	}
	d.Parties = append(d.Parties, p)
	forgetsTheRoster(d)
}

// believesTheLast applies the last observation of a member to all of its processes.
func believesTheLast(d *Domain) {
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			m := &d.Parties[i].Members[k]
			slices.SortFunc(m.Observations, func(x, y Observation) int { return y.ObservedAt.Compare(x.ObservedAt) })
			m.Observations = m.Observations[:min(1, len(m.Observations))]
		}
	}
}

func eachObservation(change func(*Party, *Observation)) func(*Domain) {
	return func(d *Domain) {
		for i := range d.Parties {
			for k := range d.Parties[i].Members {
				for n := range d.Parties[i].Members[k].Observations {
					change(&d.Parties[i], &d.Parties[i].Members[k].Observations[n])
				}
			}
		}
	}
}
