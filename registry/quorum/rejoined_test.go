// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"strings"
	"testing"

	"certrotation.dev/registry/quorum"
)

func TestRejoined(t *testing.T) {
	elsewhere := func(a *quorum.Answer) { a.Leader = 3 }
	nowhere := func(a *quorum.Answer) { a.Leader = 0 }
	for _, test := range []struct {
		name    string
		answers []quorum.Answer
		want    quorum.Reason
		says    string
	}{
		{"it is back", cluster("hhh"), quorum.ReasonRejoined, ""},
		{"it is back, another one is down", cluster("hhd"), quorum.ReasonRejoined, ""},
		{"alone", cluster("h"), quorum.ReasonRejoined, ""},
		{"of two", cluster("hh"), quorum.ReasonRejoined, ""},
		{"it answers out of its own data only", cluster("shh"), quorum.ReasonNotRejoined, "linearizable"},
		{"it is down", cluster("dhh"), quorum.ReasonNotRejoined, "cannot be reached"},
		{"it is a learner", change(cluster("lhh"), "a", func(a *quorum.Answer) { a.Healthy = true }), quorum.ReasonNotRejoined, "promote"},
		{"it is a learner, and refuses reads", change(cluster("lhh"), "a", func(a *quorum.Answer) { a.Healthy, a.Failure = false, "not supported for learner" }),
			quorum.ReasonNotRejoined, "promote"},
		{"it is in no list", cluster("nhh"), quorum.ReasonNotRejoined, ""},
		{"it has joined something that the list does not know",
			change(cluster("nhh"), "a", func(a *quorum.Answer) { a.MemberID, a.ClusterID, a.Healthy = 9, 7, true }),
			quorum.ReasonNotRejoined, "not in the cluster's list"},
		{"it has made a cluster of its own",
			change(cluster("hhh"), "a", func(a *quorum.Answer) { a.ClusterID = 8 }), quorum.ReasonContradiction, "different clusters"},
		{"it does not reach a peer", cut(cluster("hhh"), "a", "c"), quorum.ReasonNotRejoined, "not connected with c"},
		{"a peer does not reach it", cut(cluster("hhh"), "c", "a"), quorum.ReasonNotRejoined, "not reached by c"},
		{"two others have lost each other", cut(cluster("hhh"), "b", "c"), quorum.ReasonRejoined, ""},
		{"it sees another leader", change(cluster("hhh"), "a", elsewhere), quorum.ReasonNotRejoined, "leader"},
		{"another one sees no leader", change(cluster("hhh"), "b", nowhere), quorum.ReasonNotRejoined, "election"},
		{"the list is not confirmed", unconfirmed(cluster("hhh")), quorum.ReasonNotRejoined, "not in the cluster's list"},
		{"a learner sees another leader", change(cluster("hhl"), "c", func(a *quorum.Answer) { a.Healthy, a.Leader = true, 3 }), quorum.ReasonRejoined, ""},
		{"an election", change(cluster("hhh"), "a", nowhere), quorum.ReasonNotRejoined, "election"},
		{"nobody was asked", nil, quorum.ReasonStateUnknown, "not asked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := quorum.Rejoined(quorum.Observe(test.answers), "a")
			if got.Reason != test.want || !strings.Contains(got.Message, test.says) {
				t.Errorf("got %s: %s\nwant %s: ...%s...", got.Reason, got.Message, test.want, test.says)
			}
			if got.Safe != allows(test.want) {
				t.Errorf("%s is safe: %t", got.Reason, got.Safe)
			}
		})
	}
}
