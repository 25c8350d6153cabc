// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"
)

// leads lets the first leader reconcile one of its keys.
func (w *world) leads() (bool, error) { return true, w.lookAt(w.leaders[0]) }

// otherLeads lets the second leader reconcile, if there is one.
func (w *world) otherLeads() (bool, error) {
	if len(w.leaders) < 2 {
		return false, nil
	}
	return true, w.lookAt(w.leaders[1])
}

// lookAt lets a leader reconcile one of its keys.
func (w *world) lookAt(l *leader) error {
	keys := []string{}
	for _, d := range w.domains().Domains {
		keys = append(keys, d.Name)
	}
	if w.topology.aggregate {
		keys = append(keys, "")
	}
	k := one(w.dice, "what is looked at", keys)
	if !in(w.dice, 3, "with caches that lag") {
		l.view.catchUp()
	} else if !l.view.upToDate() {
		w.counts.faults["stale cache"]++
	}
	w.say("%s looks at %q", l.name, k)
	return l.reconcile(k)
}

func (w *world) catchesUp() bool {
	l := one(w.dice, "leader", w.leaders)
	if l.view.upToDate() {
		return false
	}
	l.view.advance(w.dice.roll(l.view.caches(), "cache"), 1+w.dice.roll(2, "by"))
	w.say("a cache of %s catches up", l.name)
	return true
}

func (w *world) crashes() (bool, error) {
	w.say("%s crashes", w.leaders[0].name)
	w.counts.faults["crash"]++
	w.leaders[0].dead = true
	return true, nil
}

// replaceDead replaces crashed leaders. Each new leader has another clock skew.
func (w *world) replaceDead() error {
	for i, l := range w.leaders {
		if !l.dead {
			continue
		}
		fresh, err := newLeader(w, l.name, w.rollOff())
		if err != nil {
			return err
		}
		l.stop()
		w.leaders[i] = fresh
	}
	return nil
}

func (w *world) rollOff() time.Duration {
	return one(w.dice, "clock", []time.Duration{0, maxOff, -maxOff})
}

// secondLeader begins to lead while the first does not know that it has lost its lease. If there are two, the first
// finds out.
func (w *world) secondLeader() (bool, error) {
	if len(w.leaders) == 2 {
		w.say("the former leader finds out that it leads no more")
		w.leaders[1].stop()
		w.leaders = w.leaders[:1]
		return true, nil
	}
	fresh, err := newLeader(w, "the leader", w.rollOff())
	if err != nil {
		return false, err
	}
	w.say("another leader begins, and the former does not know")
	w.counts.faults["two leaders"]++
	w.leaders[0].name = "the former leader"
	w.leaders = []*leader{fresh, w.leaders[0]}
	return true, nil
}
