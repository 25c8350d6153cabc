// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
	"testing"
	"time"
)

func TestCheckReportingPod(t *testing.T) {
	const client = "system:serviceaccount:demo:client"
	pod := func(name, uid string) *Account { return &Account{Name: client, PodName: name, PodUID: uid} }
	tests := []struct {
		name, party, member, instance string
		by                            *Account
		change                        func(*Domain)
		// refused is part of the refusal, "" for none.
		refused string
	}{
		{"a pod for itself", "clients", "a", "uid-a", pod("a", "uid-a"), nil, ""},
		{"a pod under a name of its own", "clients", "a", "a", pod("a", "uid-a"), nil, "of a pod the instance is its UID, uid-a"},
		{"a pod under the UID of its neighbour", "clients", "a", "uid-b", pod("a", "uid-a"), nil, "of a pod the instance is its UID, uid-a"},
		{"a pod for its neighbour", "clients", "b", "uid-b", pod("a", "uid-a"), nil, "the token is bound to pod a"},
		{"a pod for its neighbour, as itself", "clients", "b", "uid-a", pod("a", "uid-a"), nil, "the token is bound to pod a"},
		{"a pod that was replaced", "clients", "a", "uid-a", pod("a", "uid-before"), nil, "the UID uid-before, and the pod that counts has uid-a"},
		{"a pod that was replaced, as it was", "clients", "a", "uid-before", pod("a", "uid-before"), nil, "report again"},
		{"a token that is bound to no pod", "clients", "a", "uid-a", &Account{Name: client}, nil, "report from inside the pod, with the token that kubelet mounts there"},
		{"a token that names a pod without its UID", "clients", "a", "", pod("a", ""), nil, "is bound to no pod"},
		{"a person", "clients", "a", "uid-a", &Account{Name: "alice", Groups: []string{"system:masters"}}, nil, `"alice" is bound to no pod`},
		{"a person who is said to be in the pod", "clients", "a", "uid-a", &Account{Name: "alice", PodName: "a", PodUID: "uid-a"}, nil, "is bound to no pod"},
		{"an account of another namespace", "clients", "a", "uid-a", &Account{Name: "system:serviceaccount:demo2:client", PodName: "a", PodUID: "uid-a"}, nil,
			"is bound to no pod of namespace demo"},
		{"for a member that is no pod", "server", "server", "1", &Account{Name: "alice"}, nil, ""},
		{"a pod for a member that is no pod", "server", "server", "1", pod("a", "uid-a"), nil, ""},
		{"for a member of the same name in another party", "server", "a", "1", &Account{Name: "alice"}, nil, ""},
		{"for nobody", "clients", "c", "1", &Account{Name: "alice"}, nil, ""},

		{"a pod of the roster alone", "former", "x", "uid-x", pod("x", "uid-x"), inFlight, ""},
		{"another one for it", "former", "x", "uid-x", pod("a", "uid-a"), inFlight, "the token is bound to pod a"},
		{"a person for it", "former", "x", "uid-x", &Account{Name: "alice"}, inFlight, "is bound to no pod"},
		{"a pod of the roster, at rest", "former", "x", "uid-x", &Account{Name: "alice"}, func(d *Domain) {
			inFlight(d)
			d.Signer.Next = nil
		}, ""},
		{"the pod that has its name now", "clients", "a", "uid-a", pod("a", "uid-a"), replacedInFlight, ""},
		{"the one that had it before", "clients", "a", "uid-before", pod("a", "uid-before"), replacedInFlight, "and the pod that counts has uid-a"},
		{"the one for the other", "clients", "a", "uid-before", pod("a", "uid-a"), replacedInFlight, "of a pod the instance is its UID, uid-a"},
		{"one that is neither", "clients", "a", "uid-a", pod("a", "uid-0"), replacedInFlight, "the pod that counts has uid-a;"},

		{"a process that had the name before the pod", "clients", "a", "1", &Account{Name: "alice"}, namedInFlight, ""},
		{"such a process as the pod", "clients", "a", "uid-a", &Account{Name: "alice"}, namedInFlight, "is bound to no pod"},
		{"the pod that has the name of a process", "clients", "a", "uid-a", pod("a", "uid-a"), namedInFlight, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			w.d.Parties = append(w.d.Parties, Party{Name: "clients", Kind: Acknowledgement, Verifies: []string{"server"}, OfPods: true, Members: []Member{
				{Name: "a", Instance: "uid-a", Pod: &Pod{Started: true}},
				{Name: "b", Instance: "uid-b", Pod: &Pod{Started: true}},
			}})
			w.party("server").Members = append(w.party("server").Members, Member{Name: "a"})
			if tt.change != nil {
				tt.change(&w.d)
			}
			err := CheckReportingPod(&w.d, tt.party, tt.member, tt.instance, tt.by)
			if tt.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, ContentDecides)
			if !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%q does not say %q", err, tt.refused)
			}
		})
	}
}

// inFlight starts a rotation in which a pod counts that no party selects any more.
func inFlight(d *Domain) {
	d.Signer.Next = d.Signer.Active
	d.Roster = &Roster{Members: []RosterMember{{Party: "former", Member: "x", Instance: "uid-x", Pod: true, Kind: Acknowledgement, Started: true}}}
}

// replacedInFlight makes a former pod count beside the one that took its name, because it is not proven to be
// gone.
func replacedInFlight(d *Domain) {
	inFlight(d)
	d.Roster.Members[0] = RosterMember{Party: "clients", Member: "a", Instance: "uid-before", Pod: true, Kind: Acknowledgement, Started: true}
}

// namedInFlight makes a pod take the name of a member that was not a pod.
func namedInFlight(d *Domain) {
	inFlight(d)
	d.Roster.Members[0] = RosterMember{Party: "clients", Member: "a", Kind: Acknowledgement, Started: true}
}

func TestBeforeRestart(t *testing.T) {
	const second = time.Second
	tests := []struct {
		name, party, member string
		// started and observed are relative to the whole second in which the pod was restarted.
		started, observed time.Duration
		want              bool
	}{
		{"what was seen before the restart", "clients", "a", -time.Hour, -second, true},
		{"what was seen in its second, by the former process", "clients", "a", -time.Hour, second / 2, true},
		{"what was seen in its second, by the new process", "clients", "a", second / 4, second / 2, false},
		{"what was seen after it, by a sidecar that runs for long", "clients", "a", -time.Hour, second, false},
		{"what was seen after it, by the new process", "clients", "a", second / 2, time.Hour, false},
		{"of a pod that was never seen to start", "clients", "b", -time.Hour, -second, false},
		{"of another party", "others", "a", -time.Hour, -second, false},
		{"of a member that is no pod, at its restart", "hosts", "h", -time.Hour, 0, false},
		{"of a member that is no pod, before its restart", "hosts", "h", -time.Hour, -second, true},
	}
	pod := &Pod{Started: true}
	d := &Domain{Parties: []Party{
		{Name: "clients", Members: []Member{{Name: "a", Instance: "uid", Pod: pod, RestartedAt: start}, {Name: "b", Instance: "uid", Pod: pod}}},
		{Name: "others", Members: []Member{{Name: "a", Instance: "uid", Pod: pod}}},
		{Name: "hosts", Members: []Member{{Name: "h", RestartedAt: start}}},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &Observation{Kind: Acknowledgement, Instance: "uid", StartedAt: start.Add(tt.started), ObservedAt: start.Add(tt.observed)}
			if got := BeforeRestart(d, tt.party, tt.member, o); got != tt.want {
				t.Errorf("before: %t, want %t", got, tt.want)
			}
		})
	}
}
