// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

func TestWatched(t *testing.T) {
	who := target{namespace: "ns", domain: "d", party: "p", member: "m"}
	const before, after = "CA 1", "CA 2"
	for _, tc := range []struct {
		name string
		// visits follow the first one, in flight (true) or in the stage Stable (false).
		visits   []bool
		dequeued bool
		seen     bool
		inFlight bool
		content  string
		want     bool
	}{
		{name: "in the queue already", inFlight: true, content: before, want: false},
		{name: "comes again soon by itself", visits: []bool{true}, inFlight: true, content: before, want: false},
		{name: "comes again soon and something else is expected of it", visits: []bool{true}, inFlight: true, content: after, want: true},
		{name: "waits patiently and a rotation begins", visits: []bool{false, false, false}, inFlight: true, content: before, want: true},
		{name: "waits patiently and something else is expected of it", visits: []bool{false}, content: after, want: true},
		{name: "waits patiently and nothing is new", visits: []bool{false}, content: before, want: false},
		{name: "at rest, and nothing is new", visits: []bool{false}, dequeued: true, content: before, want: true},
		{name: "seen, and nothing is new", seen: true, content: before, want: false},
		{name: "seen, and something else is expected of it", seen: true, content: after, want: true},
		{name: "seen, and a rotation begins", seen: true, inFlight: true, content: before, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &watched{targets: map[target]attempts{}}
			if !w.begin(who, false, before) {
				t.Fatal("a new member is not put into the queue")
			}
			for _, inFlight := range tc.visits {
				w.next(who, inFlight, before)
			}
			if tc.dequeued {
				w.dequeued(who)
			}
			if tc.seen {
				w.done(who)
			}
			if got := w.begin(who, tc.inFlight, tc.content); got != tc.want {
				t.Errorf("put into the queue: %v, want %v", got, tc.want)
			}
			if tc.want && w.begin(who, tc.inFlight, tc.content) {
				t.Error("put into the queue twice")
			}
		})
	}
}

func TestWhatIsPlacedOnTheNodeIsNews(t *testing.T) {
	d := &trust.Domain{Namespace: "ns", Name: "d", Parties: []trust.Party{
		{Name: "serving", Kind: trust.TLSProbe, Members: []trust.Member{{Name: "node-0", Probes: []trust.Probe{{}}}, {Name: "node-1", Probes: []trust.Probe{{}}}}},
		{Name: "pods", Kind: trust.StaticPodRevision, Members: []trust.Member{{Name: "node-0"}, {Name: "node-1"}}},
	}}
	contents := func() (out []string) {
		for _, s := range observed(d)[:2] {
			out = append(out, s.expectation(nil, &assessed{Assessment: &trust.Assessment{}}))
		}
		return out
	}
	before := contents()
	d.Parties[1].Members[0].Observations = []trust.Observation{{Presents: []pki.Fingerprint{"leaf"}}}
	after := contents()
	if after[0] == before[0] {
		t.Error("what node-0 runs has changed, and its probe is not expected to see anything new")
	}
	if after[1] != before[1] {
		t.Error("what node-0 runs has changed, and the probe of node-1 is expected to see something new")
	}
}
