// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/quorum"
)

func TestObserveFindsTheNodeOfAMember(t *testing.T) {
	down := quorum.Answer{Node: "node-3", Addresses: []string{"fd00::3"}, Failure: "down"}
	for _, test := range []struct {
		name   string
		listed quorum.Listed
		want   string
	}{
		{"by its name", quorum.Listed{ID: 3, Name: "node-3"}, "node-3"},
		{"by its address", quorum.Listed{ID: 3, Name: "other", URLs: []string{"https://10.0.0.9:2380", "https://[fd00:0::3]:2380"}}, "node-3"},
		{"by the name of its node in a URL", quorum.Listed{ID: 3, URLs: []string{"https://node-3:2380"}}, "node-3"},
		{"not by the address of one that answers", quorum.Listed{ID: 3, Name: "node-1", URLs: []string{"https://10.0.0.1:2380"}}, ""},
		{"not by what is no URL", quorum.Listed{ID: 3, URLs: []string{"https://%zz"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := quorum.Answer{
				Node: "node-1", Addresses: []string{"10.0.0.1"}, MemberID: 1, ClusterID: 7, Healthy: true, Confirmed: true,
				Listed: []quorum.Listed{{ID: 1, Name: "node-1"}, test.listed},
			}
			o := quorum.Observe([]quorum.Answer{up, down})
			got := ""
			for _, m := range o.Members {
				if m.MemberID == 3 {
					got = m.Node
				}
			}
			if got != test.want {
				t.Errorf("the member is on %q, want %q", got, test.want)
			}
			if m := o.Member("node-3"); m == nil {
				t.Error("the node that was asked is missing")
			} else if m.Voter != (test.want != "") {
				t.Errorf("the node has a vote: %t", m.Voter)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	answers := cluster("hhdo")
	answers[1].At = now.Add(-time.Second)
	got := quorum.Observe(answers)
	want := quorum.Observation{
		Members: []quorum.Member{
			{MemberID: 4, Name: "d", Voter: true, Started: true},
			{Node: "a", MemberID: 1, Name: "a", Voter: true, Started: true, Answers: true, Healthy: true, Leader: 1, Connected: []uint64{2}, ObservedAt: now},
			{Node: "b", MemberID: 2, Name: "b", Voter: true, Started: true, Answers: true, Healthy: true, Leader: 1, Connected: []uint64{1}, ObservedAt: now.Add(-time.Second)},
			{Node: "c", MemberID: 3, Name: "c", Voter: true, Started: true, Failure: "it cannot be reached", ObservedAt: now},
		},
		Voters: []uint64{1, 2, 3, 4}, Confirmed: true, Leader: 1, ObservedAt: now.Add(-time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
	if got.Quorum() != 3 {
		t.Errorf("a quorum of 4 is %d", got.Quorum())
	}
}

// TestObserveConfirmsTheList: one linearizable read confirms the member list. The lists must agree on the
// learners.
func TestObserveConfirmsTheList(t *testing.T) {
	learner := func(a *quorum.Answer) {
		a.Listed = slices.Clone(a.Listed)
		a.Listed[2].Learner = true
	}
	for _, test := range []struct {
		name      string
		answers   []quorum.Answer
		confirmed bool
		voters    int
		says      string
	}{
		{name: "all have read it", answers: cluster("hhh"), confirmed: true, voters: 3},
		{name: "all list their own data", answers: unconfirmed(cluster("hhh")), voters: 3},
		{name: "one has read it", answers: change(unconfirmed(cluster("hhh")), "b", func(a *quorum.Answer) { a.Confirmed = true }), confirmed: true, voters: 3},
		{name: "one of them is a learner", answers: cluster("hhl"), confirmed: true, voters: 2},
		{name: "they do not agree on who is a learner", answers: change(cluster("hhh"), "a", learner), voters: 2, says: "do not agree"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := quorum.Observe(test.answers)
			if o.Confirmed != test.confirmed || len(o.Voters) != test.voters || !strings.Contains(o.Problem, test.says) || (o.Problem == "") != (test.says == "") {
				t.Errorf("confirmed %t, voters %v, problem %q", o.Confirmed, o.Voters, o.Problem)
			}
		})
	}
}

// TestLeaderIsAgreedOn: no leader is observed if a healthy voter sees none.
func TestLeaderIsAgreedOn(t *testing.T) {
	if o := quorum.Observe(cluster("hhh")); o.Leader != 1 {
		t.Errorf("the leader is %d, want 1", o.Leader)
	}
	for _, node := range []string{"a", "b", "c"} {
		o := quorum.Observe(change(cluster("hhh"), node, func(a *quorum.Answer) { a.Leader = 0 }))
		if o.Leader != 0 {
			t.Errorf("%s sees no leader, and it is %d", node, o.Leader)
		}
	}
}
