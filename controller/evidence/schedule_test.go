// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import "testing"

func TestWatched(t *testing.T) {
	who := target{namespace: "ns", domain: "d", party: "p", member: "m"}
	const before, after = "CA 1", "CA 2"
	for _, tc := range []struct {
		name string
		// visits in the stage Stable (false) or in flight (true), after the first begin.
		visits   []bool
		rest     bool
		inFlight bool
		content  string
		want     bool
	}{
		{name: "in the queue already", inFlight: true, content: before, want: false},
		{name: "comes again soon by itself", visits: []bool{true}, inFlight: true, content: after, want: false},
		{name: "waits patiently and a rotation begins", visits: []bool{false, false, false}, inFlight: true, content: before, want: true},
		{name: "waits patiently and something else is expected of it", visits: []bool{false}, content: after, want: true},
		{name: "waits patiently and nothing is new", visits: []bool{false}, content: before, want: false},
		{name: "at rest, and nothing is new", visits: []bool{false}, rest: true, content: before, want: true},
		{name: "given up, and nothing is new", visits: []bool{false, false, false, false, false, false}, rest: true, content: before, want: false},
		{name: "given up, and a rotation begins", visits: []bool{false, false, false, false, false, false}, rest: true, inFlight: true, content: before, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &watched{targets: map[target]attempts{}}
			if !w.begin(who, false, before) {
				t.Fatal("a new member is not put into the queue")
			}
			for _, inFlight := range tc.visits {
				w.next(who, inFlight, before)
			}
			if tc.rest {
				w.rest(who)
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
