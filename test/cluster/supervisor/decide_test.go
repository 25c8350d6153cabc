// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

func TestDecide(t *testing.T) {
	ready := func(name string) serverSituation { return serverSituation{name: name, ready: true} }
	stale := func(name string) serverSituation { return serverSituation{name: name, ready: true, stale: true} }
	down := func(s serverSituation) serverSituation { s.ready = false; return s }
	overdue := func(s serverSituation) serverSituation { s.ready, s.overdue = false, true; return s }
	servers := func(in ...serverSituation) []serverSituation { return in }
	for name, c := range map[string]struct {
		in   situation
		want action
	}{
		"nothing to do":          {in: situation{servers: servers(ready("a"), ready("b"))}},
		"the first of two":       {in: situation{servers: servers(stale("a"), stale("b"))}, want: action{restart: "a"}},
		"the second":             {in: situation{servers: servers(ready("a"), stale("b"))}, want: action{restart: "b"}},
		"one at a time":          {in: situation{servers: servers(down(ready("a")), stale("b"))}, want: action{waits: "a is not ready yet"}},
		"not the last that runs": {in: situation{servers: servers(overdue(ready("a")), stale("b"))}, want: action{waits: "a does not get ready, and nothing that serves is stopped before it does"}},
		"the only one there is":  {in: situation{servers: servers(stale("a"))}, want: action{restart: "a"}},
		"one that is down first": {in: situation{servers: servers(stale("a"), down(stale("b")))}, want: action{restart: "b"}},
		"etcd is gone for a moment": {
			in:   situation{servers: servers(down(ready("a")), down(stale("b")))},
			want: action{waits: "a is not ready yet"},
		},
		"etcd believes nobody":                {in: situation{servers: servers(overdue(ready("a")), down(stale("b")))}, want: action{restart: "b"}},
		"held":                                {in: situation{held: true, servers: servers(stale("a"), stale("b"))}, want: action{waits: "restarts are held"}},
		"held, and a leaf":                    {in: situation{held: true, leafPending: true, servers: servers(stale("a"), stale("b"))}, want: action{swapLeaf: true}},
		"a leaf alone":                        {in: situation{leafPending: true, servers: servers(ready("a"), ready("b"))}, want: action{swapLeaf: true}},
		"trust before the leaf":               {in: situation{leafPending: true, servers: servers(stale("a"), stale("b"))}, want: action{restart: "a"}},
		"a leaf waits for a restart":          {in: situation{leafPending: true, servers: servers(down(ready("a")), stale("b"))}, want: action{waits: "a is not ready yet"}},
		"a leaf waits for the last":           {in: situation{leafPending: true, servers: servers(ready("a"), down(ready("b")))}, want: action{waits: "the leaf waits for restarted API servers to be ready"}},
		"a leaf does not wait for what hangs": {in: situation{leafPending: true, servers: servers(overdue(ready("a")), stale("b"))}, want: action{swapLeaf: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, decide(c.in), cmp.AllowUnexported(action{})); diff != "" {
				t.Errorf("decide (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecideProperties: in every situation at most one server starts at a time. The last ready server is stopped only
// if it is the only one.
func TestDecideProperties(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		s := situation{held: rapid.Bool().Draw(t, "held"), leafPending: rapid.Bool().Draw(t, "leafPending")}
		for i := range rapid.IntRange(1, 4).Draw(t, "servers") {
			server := serverSituation{name: fmt.Sprint(i), stale: rapid.Bool().Draw(t, "stale"), ready: rapid.Bool().Draw(t, "ready")}
			server.overdue = !server.ready && rapid.Bool().Draw(t, "overdue")
			s.servers = append(s.servers, server)
		}
		do := decide(s)
		if do.restart == "" {
			return
		}
		ready := 0
		for _, server := range s.servers {
			if server.ready {
				ready++
			}
			if !server.stale && !server.ready && !server.overdue {
				t.Fatalf("%s restarts while %s is on its way up: %+v", do.restart, server.name, s)
			}
		}
		for _, server := range s.servers {
			if server.name != do.restart {
				continue
			}
			if !server.stale || s.held {
				t.Fatalf("%s restarts for no reason: %+v", do.restart, s)
			}
			if server.ready && ready == 1 && len(s.servers) > 1 {
				t.Fatalf("the last API server that serves restarts: %+v", s)
			}
		}
	})
}

// TestDecideEnds: if each restarted server becomes ready, decide comes to an end. It moves the leaf once, as the last
// step.
func TestDecideEnds(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		s := situation{leafPending: rapid.Bool().Draw(t, "leafPending")}
		stale := 0
		for i := range rapid.IntRange(1, 4).Draw(t, "servers") {
			server := serverSituation{name: fmt.Sprint(i), stale: rapid.Bool().Draw(t, "stale"), ready: true}
			if server.stale {
				stale++
			}
			s.servers = append(s.servers, server)
		}
		restarts, pending := 0, s.leafPending
		for {
			do := decide(s)
			switch {
			case do.restart != "":
				restarts++
				for i := range s.servers {
					if s.servers[i].name == do.restart {
						s.servers[i].stale = false
					}
				}
				if pending && !s.leafPending {
					t.Fatalf("%s restarts after the leaf has moved", do.restart)
				}
				continue
			case do.swapLeaf:
				s.leafPending = false
				continue
			}
			break
		}
		if restarts != stale || s.leafPending {
			t.Fatalf("%d restarts of %d stale servers, leaf pending %v", restarts, stale, s.leafPending)
		}
	})
}
