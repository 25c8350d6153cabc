// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// explorer tries, breadth first, everything that can happen in the small world: a server, and a client with two
// processes. States that differ only in names count as one and are tried once.
type explorer struct {
	protocol Protocol
	counts   *counts
	seen     map[[sha256.Size]byte]bool
	// states and moves count what was tried, depth is the depth that was completed.
	states, moves, depth int
	// complete says that nothing is left to try.
	complete bool
	// more returns additional moves of a state, and each is called for it. Either may be nil.
	more func(*world) []move
	each func(*node) error
}

// smallWorld is the world that is explored completely.
func smallWorld() topology {
	return topology{
		servers: 1, serverKind: configv1alpha1.EvidenceTLSProbe,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceAcknowledgement},
	}
}

// node is a state and the way to it.
type node struct {
	world  *world
	before *node
	move   string
}

// story tells the moves that lead to a state.
func (n *node) story() string {
	if n == nil || n.before == nil {
		return "from the stage Stable"
	}
	return n.before.story() + "; " + n.move
}

// move is something that can happen.
type move struct {
	name string
	do   func(*world) error
}

// explore ends when nothing is left, after the given number of states, or when an invariant is broken.
func (x *explorer) explore(t topology, most int) error {
	w, err := newWorld(t, options{dice: quietDice{}, protocol: x.protocol, counts: x.counts})
	if err != nil {
		return err
	}
	defer w.close()
	w.faultless = true
	if c := w.process("client-0"); c != nil && !w.doubleOf(c) {
		return errors.New("the client has no second process")
	}
	x.seen = map[[sha256.Size]byte]bool{w.hash(): true}
	level := []*node{{world: w}}
	if err := x.look(level[0]); err != nil {
		return err
	}
	for len(level) > 0 {
		var next []*node
		for _, n := range level {
			if x.states == most {
				return nil
			}
			found, err := x.expand(n)
			if err != nil {
				return err
			}
			next = append(next, found...)
			n.world = nil
		}
		x.depth++
		level = next
	}
	x.complete = true
	return nil
}

// expand tries every move from a state.
func (x *explorer) expand(n *node) ([]*node, error) {
	x.states++
	var out []*node
	all := moves(n.world)
	if x.more != nil {
		all = append(all, x.more(n.world)...)
	}
	for _, m := range all {
		w := n.world.clone()
		w.tick()
		err := m.do(w)
		if err == nil {
			err = w.settle()
		}
		w.stopLeaders()
		x.moves++
		x.counts.steps++
		fresh := false
		if err == nil {
			fresh, err = x.visit(w)
		}
		found := &node{world: w, before: n, move: m.name}
		if fresh && err == nil {
			err = x.look(found)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", found.story(), err)
		case fresh:
			out = append(out, found)
		}
	}
	return out, nil
}

func (x *explorer) look(n *node) error {
	if x.each == nil {
		return nil
	}
	return x.each(n)
}

// visit assesses a state that is new, and reports whether it is. The hash covers all that the assessment depends
// on. The invariants also depend on validities, so they are checked after every move.
func (x *explorer) visit(w *world) (bool, error) {
	h := w.hash()
	if x.seen[h] {
		return false, nil
	}
	x.seen[h] = true
	return true, w.progress()
}

// crashPoints are the numbers of writes after which a leader crashes, 0 for never.
func crashPoints() []int { return []int{0, 1} }

// lags are by how many states of the server the caches of a leader lag.
func lags() []int { return []int{0, 1} }

// moves returns what can happen in a state.
func moves(w *world) []move {
	var out []move
	for _, crash := range crashPoints() {
		for _, lag := range lags() {
			if crash > 0 && lag > 0 {
				continue
			}
			out = append(out, move{
				name: fmt.Sprintf("a leader looks, %d states behind, and crashes after %d writes", lag, crash),
				do:   func(w *world) error { return w.lead(crash, lag) },
			})
		}
	}
	for i, p := range w.processes {
		for _, part := range []struct {
			name string
			what parts
		}{{"its anchors", onlyTrust}, {"its leaf", onlyLeaves}} {
			out = append(out, move{
				name: p.name + " loads " + part.name,
				do: func(w *world) error {
					w.load(w.processes[i], part.what)
					return nil
				},
			})
		}
		out = append(out, move{
			name: p.name + " is observed",
			do: func(w *world) error {
				w.observe(w.processes[i])
				return nil
			},
		})
	}
	return append(out, move{
		name: "the leaf server is deleted",
		do: func(w *world) error {
			w.apply(w.deletesLeaf(w.domains().Domains[0]))
			return nil
		},
	})
}

// rosterEdits returns the edit in flight of who counts, which more than doubles the states.
func rosterEdits(w *world) []move {
	if w.wrong || !w.rotating(w.domains().Domains[0]) {
		return nil
	}
	return []move{{
		name: "nothing is asked of client-0 any more",
		do: func(w *world) error {
			cfg := w.api.configuration.DeepCopy()
			d := &cfg.Spec.TrustDomains[0]
			for i := range d.RelyingParties {
				if p := &d.RelyingParties[i]; p.Name == "client-0" {
					p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceNone, Reason: "somebody says so"}
				}
			}
			w.configures(cfg, "asks nothing of client-0 any more", true)
			return nil
		},
	}}
}

// lead lets a new leader reconcile once.
func (w *world) lead(crash, lag int) error {
	l, err := newLeader(w, "a leader", 0)
	if err != nil {
		return err
	}
	w.leaders = []*leader{l}
	l.crashAfter = crash
	// It has observed the members before: what is recorded may be old.
	for _, d := range w.domains().Domains {
		l.looked[d.Name] = true
	}
	behind := w.api.states[max(0, len(w.api.states)-1-lag)]
	l.view.show(behind)
	err = l.reconcile(w.domains().Domains[0].Name)
	l.dead = false
	return err
}

func (w *world) stopLeaders() {
	for _, l := range w.leaders {
		l.stop()
	}
	w.leaders = nil
}

// clone returns a separate world without leaders.
func (w *world) clone() *world {
	out := &world{
		options: w.options, topology: w.topology, api: w.api.clone(), verifier: w.verifier, histories: map[string]*history{},
		faultless: true, knownOf: w.knownOf, known: w.known, joined: w.joined, registered: w.registered, wrong: w.wrong,
		configuration: w.configuration, ahead: w.ahead, returned: w.returned, issuer: newCertManager(),
	}
	out.clock.set(w.clock.now())
	for _, p := range w.processes {
		out.processes = append(out.processes, p.clone())
	}
	for name, h := range w.histories {
		same := *h
		same.noted, same.open = maps.Clone(h.noted), slices.Clone(h.open)
		out.histories[name] = &same
	}
	return out
}
