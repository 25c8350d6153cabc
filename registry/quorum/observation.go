// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Member is one member of the cluster, or a node without a member.
type Member struct {
	// Node is the member's node or the name of its pod, "" if it runs on no observed node.
	Node string
	// MemberID is 0 if the node has no known member.
	MemberID uint64
	// Name in the cluster's member list.
	Name string
	// Voter and Learner are the member's role in the cluster's member list. Neither is set if it is not listed.
	Voter, Learner bool
	// Started reports whether the member has joined: until then the list has no name for it.
	Started bool
	// Answers reports whether the process identified itself. Healthy reports whether a linearizable read through it
	// succeeds.
	Answers, Healthy bool
	// Leader is the leader that the member itself sees, 0 for none.
	Leader uint64
	// Connected are the members with a working connection to this one.
	Connected []uint64
	// Failure is why the member is not healthy, or which answer is missing, "" if neither.
	Failure string
	// ObservedAt is when the member was asked, zero if it was not.
	ObservedAt time.Time
}

// Observation is the state of an etcd cluster at one moment.
type Observation struct {
	// Members are the cluster's members and every other observed node, ordered by node, then by ID.
	Members []Member
	// Voters are the IDs of the voters in the cluster's own list, ordered. Empty if no member returned the list.
	Voters []uint64
	// Confirmed reports whether the list was read linearizably.
	Confirmed bool
	// Leader is the leader that all healthy voters see, 0 if they disagree.
	Leader uint64
	// Problem is why the answers cannot come from one cluster, "" if they can.
	Problem string
	// ObservedAt is the time of the oldest answer.
	ObservedAt time.Time
}

// Quorum is how many voters must agree.
func (o Observation) Quorum() int { return len(o.Voters)/2 + 1 }

// Member returns the member on a node, nil if that node was not observed.
func (o Observation) Member(node string) *Member {
	for i := range o.Members {
		if m := &o.Members[i]; node != "" && m.Node == node {
			return m
		}
	}
	return nil
}

// nodes counts the observed nodes.
func (o Observation) nodes() int {
	n := 0
	for i := range o.Members {
		if o.Members[i].Node != "" {
			n++
		}
	}
	return n
}

// others returns all voters but one.
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

// display returns the name of a member for messages.
func (m *Member) display() string {
	return cmp.Or(m.Node, m.Name, strconv.FormatUint(m.MemberID, 16))
}

// why returns what is wrong with a member that is not healthy.
func (m *Member) why() string {
	switch {
	case m.Failure != "":
		return m.Failure
	case m.Node == "":
		return "it is none of those that were asked"
	case !m.Answers:
		return "it does not answer"
	}
	return "a linearizable read through it fails"
}
