// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
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
