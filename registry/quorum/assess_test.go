// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"strings"
	"testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
)

const (
	automatic = configv1alpha1.QuorumAutomatic
	many      = configv1alpha1.QuorumHighAvailability
	two       = configv1alpha1.QuorumTwoNode
	one       = configv1alpha1.QuorumSingleNode
)

func TestAssess(t *testing.T) {
	for _, test := range []struct {
		name     string
		strategy configv1alpha1.QuorumStrategy
		answers  []quorum.Answer
		disturb  string
		want     quorum.Reason
		// says is part of the message.
		says string
	}{
		{"one: healthy", automatic, cluster("h"), "a", quorum.ReasonInterruption, "nothing can be read or written"},
		{"one: answers without a read", automatic, cluster("s"), "a", quorum.ReasonInterruption, ""},
		{"one: down, nobody says that it is one", automatic, cluster("d"), "a", quorum.ReasonStateUnknown, "it cannot be reached"},
		{"one: down, configured", one, cluster("d"), "a", quorum.ReasonInterruption, "nothing can be read or written"},
		{"one: nothing observed, configured", one, nil, "", quorum.ReasonInterruption, ""},
		{"one: configured as two", two, cluster("h"), "a", quorum.ReasonStrategyMismatch, "SingleNode does"},
		{"one: a new node joins", automatic, cluster("hn"), "b", quorum.ReasonNoVote, ""},
		{"one: a learner", automatic, cluster("hl"), "b", quorum.ReasonNoVote, ""},
		{"one: the voter beside a learner", automatic, cluster("hl"), "a", quorum.ReasonInterruption, ""},
		{"one: the voter is down, a new node", automatic, change(cluster("sn"), "a", func(a *quorum.Answer) { a.Confirmed = false }),
			"b", quorum.ReasonQuorumAtRisk, "no vote"},

		{"two: both healthy", automatic, cluster("hh"), "a", quorum.ReasonInterruption, "nothing can be written"},
		{"two: both healthy, the list is not confirmed", automatic, unconfirmed(cluster("hh")), "a", quorum.ReasonQuorumAtRisk, "could not be read linearizably"},
		{"two: configured", two, cluster("hh"), "b", quorum.ReasonInterruption, ""},
		{"two: configured as one", one, cluster("hh"), "a", quorum.ReasonStrategyMismatch, "TwoNode does"},
		{"two: configured as many", many, cluster("hh"), "a", quorum.ReasonStrategyMismatch, "TwoNode does"},
		{"two: the broken one", automatic, cluster("sd"), "b", quorum.ReasonRepair, "b is broken"},
		{"two: the one that is left", automatic, cluster("sd"), "a", quorum.ReasonQuorumAtRisk, "does not answer either"},
		{"two: healthy beside one that cannot read", automatic, cluster("hs"), "a", quorum.ReasonDegraded, "repaired first"},
		{"two: one cannot read", automatic, cluster("hs"), "b", quorum.ReasonRepair, ""},
		{"two: cut off from each other", automatic, cluster("ss"), "a", quorum.ReasonQuorumAtRisk, "do not reach each other"},
		{"two: both down", two, cluster("dd"), "a", quorum.ReasonStateUnknown, "a: it cannot be reached"},
		{"two: a revision", automatic, cluster("sd"), "", quorum.ReasonRepair, "b is broken"},

		{"three: healthy", automatic, cluster("hhh"), "a", quorum.ReasonQuorumKept, "2 healthy voters are left"},
		{"three: default strategy", "", cluster("hhh"), "a", quorum.ReasonQuorumKept, ""},
		{"three: unknown strategy", "Reckless", cluster("hhh"), "a", quorum.ReasonStrategyMismatch, "Reckless"},
		{"three: configured as two", two, cluster("hhh"), "a", quorum.ReasonStrategyMismatch, "HighAvailability does"},
		{"three: configured as one", one, cluster("hhh"), "a", quorum.ReasonStrategyMismatch, ""},
		{"three: configured as one, all down", one, cluster("ddd"), "a", quorum.ReasonStateUnknown, ""},
		{"three: healthy, the list is not confirmed", automatic, unconfirmed(cluster("hhh")), "a", quorum.ReasonQuorumAtRisk, "could not be read linearizably"},
		{"three: one is down, the list is not confirmed", automatic, unconfirmed(cluster("hhd")), "c", quorum.ReasonQuorumAtRisk, ""},
		{"three: a new node, the list is not confirmed", automatic, unconfirmed(cluster("hhhn")), "d", quorum.ReasonQuorumAtRisk, "no vote"},
		{"three: one is down, a healthy one", automatic, cluster("hhd"), "a", quorum.ReasonQuorumAtRisk, "c: it cannot be reached"},
		{"three: one is down, that one", automatic, cluster("hhd"), "c", quorum.ReasonRepair, "it cannot be reached"},
		{"three: one cannot read, that one", automatic, cluster("hsh"), "b", quorum.ReasonRepair, ""},
		{"three: one cannot read, another one", automatic, cluster("hsh"), "a", quorum.ReasonQuorumAtRisk, "linearizable"},
		{"three: two are down", automatic, cluster("sdd"), "b", quorum.ReasonQuorumAtRisk, ""},
		{"three: no quorum, the last one", many, cluster("sdd"), "a", quorum.ReasonQuorumAtRisk, ""},
		{"three: all down", automatic, cluster("ddd"), "a", quorum.ReasonStateUnknown, "c: it cannot be reached"},
		{"three: one has never started", automatic, cluster("hhu"), "a", quorum.ReasonQuorumAtRisk, ""},
		{"three: the one that has never started", automatic, cluster("hhu"), "c", quorum.ReasonRepair, ""},
		{"three: a learner besides", automatic, cluster("hhhl"), "a", quorum.ReasonQuorumKept, ""},
		{"three: the learner", automatic, cluster("hhhl"), "d", quorum.ReasonNoVote, ""},
		{"three: the learner while one is down", automatic, cluster("hhdl"), "d", quorum.ReasonNoVote, "2 of 3"},
		{"three: the learner while two are down", automatic, cluster("hddl"), "d", quorum.ReasonQuorumAtRisk, ""},
		{"three: a node that joins", automatic, cluster("hhhn"), "d", quorum.ReasonNoVote, ""},
		{"three: a node that joins for a dead one", automatic, cluster("hhdn"), "d", quorum.ReasonNoVote, ""},
		{"three: one is on none of the nodes", automatic, cluster("hho"), "a", quorum.ReasonQuorumAtRisk, "none of those"},
		{"three: a node that was not asked", automatic, cluster("hhh"), "z", quorum.ReasonStateUnknown, "z was not asked"},
		{"three: the others have lost each other", automatic, cut(cluster("hhh"), "b", "c"), "a", quorum.ReasonDisconnected, "b and c"},
		{"three: the others have lost each other, other way", automatic, cut(cluster("hhh"), "c", "b"), "a", quorum.ReasonDisconnected, ""},
		{"three: one of those who have lost each other", automatic, cut(cluster("hhh"), "b", "c"), "b", quorum.ReasonQuorumKept, ""},
		{"three: a revision", automatic, cluster("hhh"), "", quorum.ReasonQuorumKept, ""},
		{"three: a revision while one is down", automatic, cluster("hdh"), "", quorum.ReasonRepair, "b is broken"},
		{"three: a revision while two are down", automatic, cluster("hdd"), "", quorum.ReasonQuorumAtRisk, ""},
		{"three: a revision while all are down", automatic, cluster("ddd"), "", quorum.ReasonStateUnknown, ""},
		{"nothing observed", automatic, nil, "a", quorum.ReasonStateUnknown, "no node was asked"},
		{"nothing observed, a revision", automatic, nil, "", quorum.ReasonStateUnknown, ""},

		{"four: healthy", automatic, cluster("hhhh"), "a", quorum.ReasonQuorumKept, "3 healthy voters are left, of 3"},
		{"four: one is down", automatic, cluster("hhhd"), "a", quorum.ReasonQuorumAtRisk, ""},
		{"four: that one", automatic, cluster("hhhd"), "d", quorum.ReasonRepair, ""},

		{"five: healthy", automatic, cluster("hhhhh"), "a", quorum.ReasonQuorumKept, "4 healthy voters are left, of 3"},
		{"five: one is down, a healthy one", automatic, cluster("hhhhd"), "a", quorum.ReasonDegraded, "e: it cannot be reached"},
		{"five: one is down, that one", automatic, cluster("hhhhd"), "e", quorum.ReasonRepair, ""},
		{"five: two are down, a healthy one", automatic, cluster("hhhdd"), "a", quorum.ReasonQuorumAtRisk, ""},
		{"five: two are down, one of them", automatic, cluster("hhhdd"), "d", quorum.ReasonRepair, ""},
		{"five: three are down", automatic, cluster("hhddd"), "c", quorum.ReasonQuorumAtRisk, ""},
		{"five: two have lost each other", automatic, cut(cluster("hhhhh"), "d", "e"), "a", quorum.ReasonDisconnected, "d and e"},

		{"two clusters", automatic, change(cluster("hhh"), "b", func(a *quorum.Answer) { a.ClusterID = 8 }),
			"a", quorum.ReasonContradiction, "different clusters"},
		{"two clusters, a revision", automatic, change(cluster("hhh"), "b", func(a *quorum.Answer) { a.ClusterID = 8 }),
			"", quorum.ReasonContradiction, ""},
		{"two nodes lead to one member", automatic, change(cluster("hhh"), "b", func(a *quorum.Answer) { a.MemberID = 1 }),
			"c", quorum.ReasonContradiction, "a and b lead to the same member"},
		{"they do not agree who belongs to it", automatic,
			change(cluster("hhh"), "b", func(a *quorum.Answer) { a.Listed = a.Listed[:2] }), "a", quorum.ReasonContradiction, "changing"},
		{"an unconfirmed list that disagrees counts for nothing", automatic,
			change(cluster("hhs"), "c", func(a *quorum.Answer) { a.Listed, a.Confirmed = a.Listed[:1], false }), "c", quorum.ReasonRepair, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := quorum.Assess(test.strategy, quorum.Observe(test.answers), test.disturb)
			if got.Reason != test.want || !strings.Contains(got.Message, test.says) {
				t.Errorf("got %s: %s\nwant %s: ...%s...", got.Reason, got.Message, test.want, test.says)
			}
			if got.Safe != allows(test.want) {
				t.Errorf("%s is safe: %t", got.Reason, got.Safe)
			}
			if got.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func allows(reason quorum.Reason) bool {
	switch reason {
	case quorum.ReasonQuorumKept, quorum.ReasonRepair, quorum.ReasonNoVote, quorum.ReasonInterruption, quorum.ReasonRejoined:
		return true
	}
	return false
}
