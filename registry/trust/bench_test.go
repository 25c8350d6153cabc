// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"testing"

	"certrotation.dev/registry/pki"
)

// large returns a domain of n leaves during a rotation. Each leaf but the last has a holder that acknowledges. The
// holder of the last leaf is probed and verifies all others.
func large(b *testing.B, n int) *world {
	w := newWorld(b)
	policy := w.d.Leaves[0].Policy
	w.d.Leaves, w.d.Parties = nil, nil
	var clients []string
	for i := range n - 1 {
		clients = append(clients, fmt.Sprintf("client-%05d", i))
	}
	for _, name := range append(clients, "server") {
		p := policy
		p.Profile.Key, p.Profile.CommonName, p.Profile.DNSNames = pki.Ed25519, name, []string{name}
		w.d.Leaves = append(w.d.Leaves, Leaf{Object: Object{Name: name}, Policy: p})
		party := Party{Name: name, Kind: Acknowledgement, Verifies: []string{"server"}, Members: []Member{{Name: name, Holds: []string{name}}}}
		if name == "server" {
			party.Kind, party.Verifies, party.Members = TLSProbe, clients, []Member{probedMember(name, name)}
		}
		w.d.Parties = append(w.d.Parties, party)
	}
	w.settleIndexed()
	for i := range w.d.Parties {
		m := &w.d.Parties[i].Members[0]
		o := w.observation(w.d.Parties[i].Kind, m)
		o.Trusts, o.Presents = []pki.Fingerprint{w.d.Signer.Active.Fingerprint}, []pki.Fingerprint{w.d.Leaves[i].Certificate.Fingerprint}
		m.Observations = []Observation{o}
	}
	w.request("bench")
	w.settle()
	return w
}

// settleIndexed is settle for the bootstrap, where actions name the leaves in order.
func (w *world) settleIndexed() {
	for w.assess().Actions[0].Kind != IssueLeaf {
		w.step()
	}
	actions := w.assess().Actions
	for i := range actions {
		pair, err := w.keys[actions[i].Authority].Issue(actions[i].Profile, w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		l := &w.d.Leaves[i]
		l.Present, l.Certificate, l.Authorities = true, pair.Certificate, pair.Chain
		record(&l.Object, MetadataOfLeaf(w.d.Name, pair.Certificate, l.Policy, w.now))
	}
}

func BenchmarkAssess(b *testing.B) {
	for _, n := range []int{3, 100, 10_000} {
		b.Run(fmt.Sprintf("leaves=%d", n), func(b *testing.B) {
			w := large(b, n)
			if a := w.assess(); a.Stage != Distributing || len(a.Blockers) != n {
				b.Fatalf("stage %s with %d blockers", a.Stage, len(a.Blockers))
			}
			b.ReportAllocs()
			for b.Loop() {
				Assess(&w.d, w.now)
			}
		})
	}
}

func BenchmarkJudgeLeafDeletion(b *testing.B) {
	for _, n := range []int{3, 100, 10_000} {
		b.Run(fmt.Sprintf("leaves=%d", n), func(b *testing.B) {
			w := large(b, n)
			after := w.clone()
			deleteLeaf("server")(after)
			b.ReportAllocs()
			for b.Loop() {
				Judge(&w.d, after, w.now)
			}
		})
	}
}
