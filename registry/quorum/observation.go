// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Member is what is known about one member of the cluster, or about a node without a member.
type Member struct {
	// Node that the member runs on, or the name of its pod; "" if it runs on none of those that were observed.
	Node string
	// MemberID is 0 if no member is known for the node.
	MemberID uint64
	// Name in the cluster's list of members.
	Name string
	// Voter and Learner say what the member is in the cluster's list of members; neither is set if it is not in the
	// list.
	Voter, Learner bool
	// Started means that it has joined: until then the list has no name for it.
	Started bool
	// Answers means that the process has identified itself. Healthy means that a linearizable read through it succeeds.
	Answers, Healthy bool
	// Leader as seen by the member itself, 0 for none.
	Leader uint64
	// Connected are the members with which this one has working connections.
	Connected []uint64
	// Failure says why the member is not healthy, or which answer is missing; "" if nothing is wrong.
	Failure string
	// ObservedAt is when it was asked, zero if it was not.
	ObservedAt time.Time
}

// Observation is the state of an etcd cluster at one moment.
type Observation struct {
	// Members are those of the cluster and of every observed node, ordered by node, then by ID.
	Members []Member
	// Voters are the IDs of the voters in the cluster's own list, ordered; empty if no member has returned it.
	Voters []uint64
	// Confirmed means that the list was read linearizably.
	Confirmed bool
	// Leader that the healthy members agree on, 0 if they do not.
	Leader uint64
	// Problem says why the answers cannot come from one cluster, "" if they can.
	Problem string
	// ObservedAt is when the oldest answer was given.
	ObservedAt time.Time
}

// Quorum is how many voters have to agree.
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

// others are all voters but one.
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

// display is the name of a member in messages.
func (m *Member) display() string {
	return cmp.Or(m.Node, m.Name, strconv.FormatUint(m.MemberID, 16))
}

// why says what is wrong with a member that is not healthy.
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
