// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Member is what is known of one member of the cluster, or of a node that has no member.
type Member struct {
	// Node that the member runs on, "" if it is on none of the nodes that were asked.
	Node string
	// MemberID is 0 for a node that has no member as far as is known.
	MemberID uint64
	// Name by the cluster's list of members.
	Name string
	// Voter says that the cluster's list has it as a voter. Learner says that it has it as a learner.
	Voter, Learner bool
	// Started says that it has joined: until then the list has no name for it.
	Started bool
	// Answers says that the process says who it is. Healthy says that a linearizable read through it succeeds.
	Answers, Healthy bool
	// Leader that the member itself sees, 0 for none.
	Leader uint64
	// Connected are the members that this one has working connections with.
	Connected []uint64
	// Failure says why it is not healthy, or what it does not tell; "" if nothing is wrong.
	Failure string
	// ObservedAt is when it was asked, zero if it was not.
	ObservedAt time.Time
}

// Observation is the state of an etcd cluster at one moment.
type Observation struct {
	// Members are those of the cluster and of every node that was asked, ordered by node, then by ID.
	Members []Member
	// Voters are the IDs of the voters by the cluster's own list, ordered; empty if nobody has told.
	Voters []uint64
	// Confirmed says that the list was read linearizably.
	Confirmed bool
	// Leader that the healthy members agree on, 0 if they do not.
	Leader uint64
	// Problem says why the answers do not make one cluster, "" if they do.
	Problem string
	// ObservedAt is when the oldest answer was given.
	ObservedAt time.Time
}

// Quorum is how many voters have to agree.
func (o Observation) Quorum() int { return len(o.Voters)/2 + 1 }

// Member returns the one on a node, nil if that node was not asked.
func (o Observation) Member(node string) *Member {
	for i := range o.Members {
		if m := &o.Members[i]; node != "" && m.Node == node {
			return m
		}
	}
	return nil
}

// nodes counts those that were asked.
func (o Observation) nodes() int {
	n := 0
	for i := range o.Members {
		if o.Members[i].Node != "" {
			n++
		}
	}
	return n
}

// others are the voters apart from one.
func (o Observation) others(than *Member) []*Member {
	var out []*Member
	for i := range o.Members {
		if m := &o.Members[i]; m.Voter && m != than {
			out = append(out, m)
		}
	}
	return out
}

func healthy(members []*Member) []*Member {
	return slices.DeleteFunc(slices.Clone(members), func(m *Member) bool { return !m.Healthy })
}

func broken(members []*Member) []*Member {
	return slices.DeleteFunc(slices.Clone(members), func(m *Member) bool { return m.Healthy })
}

// display names a member for people.
func (m *Member) display() string {
	return cmp.Or(m.Node, m.Name, strconv.FormatUint(m.MemberID, 16))
}

// why says what is wrong with a member that is not healthy.
func (m *Member) why() string {
	switch {
	case m.Failure != "":
		return m.Failure
	case m.Node == "":
		return "it is on none of the nodes of the rollout"
	case !m.Answers:
		return "it does not answer"
	}
	return "a linearizable read through it fails"
}
