// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"
)

// Answer is the answer of one node.
type Answer struct {
	// Node or name of the pod, and the Addresses by which the member list may know it.
	Node      string
	Addresses []string
	// MemberID and ClusterID are reported by the process itself, 0 if it did not answer.
	MemberID, ClusterID uint64
	// Healthy reports whether a linearizable read succeeded.
	Healthy bool
	// Leader is the leader that the process sees, 0 for none.
	Leader uint64
	// Connected are the peers with a working connection to the process.
	Connected []uint64
	// Listed is this member's list of the cluster's members: read linearizably if Confirmed, otherwise from its own
	// data.
	Listed    []Listed
	Confirmed bool
	// Failure is what went wrong, "" if nothing did.
	Failure string
	// At is when the node was asked.
	At time.Time
}

// Listed is an entry of the cluster's member list.
type Listed struct {
	ID uint64
	// Name is empty until the member has started.
	Name    string
	Learner bool
	// URLs of its peer and client listeners.
	URLs []string
}

// Observe combines the answers of all nodes.
func Observe(answers []Answer) Observation {
	o := Observation{Problem: contradiction(answers)}
	listed, confirmed, agreed := list(answers)
	if o.Problem == "" && !agreed {
		o.Problem = "the members do not agree on who belongs to the cluster: its membership is changing, or some are cut off"
	}
	o.Confirmed = confirmed && o.Problem == ""
	taken := map[string]bool{}
	for _, l := range listed {
		a := answerOf(l, answers, taken)
		m := memberOf(a)
		m.MemberID, m.Name, m.Started = l.ID, l.Name, l.Name != ""
		m.Voter, m.Learner = !l.Learner, l.Learner
		if m.Voter {
			o.Voters = append(o.Voters, l.ID)
		}
		o.Members = append(o.Members, m)
	}
	for i := range answers {
		if a := &answers[i]; !taken[a.Node] {
			o.Members = append(o.Members, memberOf(a))
		}
		if o.ObservedAt.IsZero() || answers[i].At.Before(o.ObservedAt) {
			o.ObservedAt = answers[i].At
		}
	}
	slices.Sort(o.Voters)
	slices.SortFunc(o.Members, func(x, y Member) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.MemberID, y.MemberID))
	})
	o.Leader = leader(o.Members)
	return o
}

func memberOf(a *Answer) Member {
	if a == nil {
		return Member{}
	}
	answers := a.MemberID != 0
	return Member{
		Node: a.Node, MemberID: a.MemberID, Answers: answers, Healthy: answers && a.Healthy, Leader: a.Leader,
		Connected: a.Connected, Failure: a.Failure, ObservedAt: a.At,
	}
}

// contradiction returns why the answers cannot come from one cluster with one member on each node, "" if they can.
func contradiction(answers []Answer) string {
	at := map[uint64]string{}
	for _, a := range answers {
		if a.MemberID == 0 {
			continue
		}
		if other, ok := at[a.MemberID]; ok {
			return fmt.Sprintf("the endpoints of %s and %s lead to the same member: each has to lead to its own", other, a.Node)
		}
		at[a.MemberID] = a.Node
		if first := answered(answers); a.ClusterID != first.ClusterID {
			return fmt.Sprintf("%s and %s run members of different clusters (%x and %x): one of them has to join the other",
				first.Node, a.Node, first.ClusterID, a.ClusterID)
		}
	}
	return ""
}

// answered returns the first answer with a member ID. There must be one.
func answered(answers []Answer) Answer {
	return answers[slices.IndexFunc(answers, func(a Answer) bool { return a.MemberID != 0 })]
}

// list returns the members of the cluster. Linearizable lists take precedence over lists from a member's own data. If
// lists of the preferred kind differ, agreed is false.
func list(answers []Answer) (listed []Listed, confirmed, agreed bool) {
	for _, wanted := range []bool{true, false} {
		for _, a := range answers {
			switch {
			case a.MemberID == 0 || len(a.Listed) == 0 || a.Confirmed != wanted:
			case listed == nil:
				listed = a.Listed
			case !sameList(listed, a.Listed):
				return listed, false, false
			}
		}
		if listed != nil {
			return listed, wanted, true
		}
	}
	return nil, false, true
}

func sameList(x, y []Listed) bool {
	ids := func(list []Listed) []Listed {
		var out []Listed
		for _, l := range list {
			out = append(out, Listed{ID: l.ID, Learner: l.Learner})
		}
		slices.SortFunc(out, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
		return out
	}
	return slices.EqualFunc(ids(x), ids(y), func(a, b Listed) bool { return a.ID == b.ID && a.Learner == b.Learner })
}

// answerOf returns the answer of a listed member, nil if there is none. It matches the member ID or, for an answer
// without one, the listed node name or address.
func answerOf(l Listed, answers []Answer, taken map[string]bool) *Answer {
	matches := []func(a *Answer) bool{
		func(a *Answer) bool { return a.MemberID == l.ID },
		func(a *Answer) bool { return a.MemberID == 0 && l.Name != "" && a.Node == l.Name },
		func(a *Answer) bool { return a.MemberID == 0 && slices.ContainsFunc(l.URLs, a.at) },
	}
	for _, match := range matches {
		for i := range answers {
			if a := &answers[i]; !taken[a.Node] && match(a) {
				taken[a.Node] = true
				return a
			}
		}
	}
	return nil
}

// at reports whether a URL points to the node.
func (a *Answer) at(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	return host == a.Node || slices.Contains(a.Addresses, host)
}

func leader(members []Member) uint64 {
	var seen uint64
	for i := range members {
		m := &members[i]
		if !m.Healthy || !m.Voter {
			continue
		}
		if m.Leader == 0 || (seen != 0 && m.Leader != seen) {
			return 0
		}
		seen = m.Leader
	}
	return seen
}
