// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/quorum"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// cluster makes the answers of nodes a, b, c and so on, from one letter each. h is healthy. s answers, but not
// with a linearizable read. d is down. l is a healthy learner. u is listed and has never started. n is a node
// without a member. o is a member on none of the nodes.
func cluster(states string) []quorum.Answer {
	var listed []quorum.Listed
	for i, state := range states {
		l := quorum.Listed{ID: uint64(i + 1), Name: name(i), Learner: state == 'l', URLs: []string{"https://" + address(i) + ":2380"}}
		if state == 'u' {
			l.Name = ""
		}
		if state != 'n' {
			listed = append(listed, l)
		}
	}
	healthy := strings.Count(states, "h")
	var answers []quorum.Answer
	for i, state := range states {
		a := quorum.Answer{Node: name(i), Addresses: []string{address(i)}, At: now}
		switch state {
		case 'o':
			continue
		case 'd', 'u', 'n':
			a.Failure = "it cannot be reached"
		case 'h', 's', 'l':
			a.MemberID, a.ClusterID, a.Leader, a.Listed = uint64(i+1), 7, uint64(strings.IndexByte(states, 'h')+1), listed
			a.Healthy = state == 'h'
			a.Confirmed = healthy > 0
		}
		if a.Healthy {
			for j, other := range states {
				if j != i && other == 'h' {
					a.Connected = append(a.Connected, uint64(j+1))
				}
			}
		}
		answers = append(answers, a)
	}
	return answers
}

func name(i int) string    { return string(rune('a' + i)) }
func address(i int) string { return "10.0.0." + string(rune('1'+i)) }

// cut removes the connection to a node from the answer of another node.
func cut(answers []quorum.Answer, from, to string) []quorum.Answer {
	at := func(node string) int {
		return slices.IndexFunc(answers, func(a quorum.Answer) bool { return a.Node == node })
	}
	a := &answers[at(from)]
	a.Connected = slices.DeleteFunc(slices.Clone(a.Connected), func(id uint64) bool { return id == answers[at(to)].MemberID })
	return answers
}

// unconfirmed makes every member list the others without a linearizable read.
func unconfirmed(answers []quorum.Answer) []quorum.Answer {
	for i := range answers {
		answers[i].Confirmed = false
	}
	return answers
}

func change(answers []quorum.Answer, node string, fn func(*quorum.Answer)) []quorum.Answer {
	for i := range answers {
		if answers[i].Node == node {
			fn(&answers[i])
		}
	}
	return answers
}
