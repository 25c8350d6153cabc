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

// story is a fault that the former model had. It is told twice: to the model as it is, to which it must not happen, and to
// the model with former, which takes away what it did not know, and to which it must.
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

// settled performs what there is to do, and says which promise was broken meanwhile.
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

// followedBy has everybody but the laggards load and be observed until nothing changes any more.
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

// holds says what is wrong if the rotation does not wait with this reason.
func (f *fleet) holds(reason Reason) error {
	a := f.assess()
	if !a.InFlight() || !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == reason }) {
		return fmt.Errorf("it does not wait because of %s: stage %s, blockers %+v, done %v", reason, a.Stage, a.Blockers, f.done)
	}
	return nil
}

// ends says what is wrong if the rotation has not come to its end.
func (f *fleet) ends() error {
	if a := f.assess(); a.Stage != Stable || len(f.d.Bundle.Anchors) != 1 {
		return fmt.Errorf("it does not end: stage %s, blockers %+v, done %v", a.Stage, a.Blockers, f.done)
	}
	return nil
}

// remove takes a party out of the configuration. Its process lives on.
func (f *fleet) remove(party string) {
	f.d.Parties = slices.DeleteFunc(slices.Clone(f.d.Parties), func(p Party) bool { return p.Name == party })
}

// onNode makes the member of a party that of a node.
func (f *fleet) onNode(party, uid string) {
	f.party(party).Members[0].Instance = uid
}

// forgetsTheRoster makes of the record what the configuration says at this moment.
func forgetsTheRoster(d *Domain) {
	d.Roster = nil
	d.Roster = newChoice(decide(d, start)).record
}

// nobodyIsEverybody is the former rule as a configuration: what nobody verifies or presents needs no evidence.
func nobodyIsEverybody(d *Domain) {
	p := Party{Name: "nobody", Kind: None, Members: []Member{{Name: "nobody"}}}
	for i := range d.Leaves {
		p.Verifies = append(p.Verifies, d.Leaves[i].Name)
		p.Members[0].Holds = append(p.Members[0].Holds, d.Leaves[i].Name)
	}
	d.Parties = append(d.Parties, p)
	forgetsTheRoster(d)
}

// believesTheLast takes the last observation of a member for all of its processes.
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
