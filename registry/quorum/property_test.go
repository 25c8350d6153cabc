// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"testing"

	"pgregory.net/rapid"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/test/property"
)

// answers draws the answers of a cluster in which anything may be wrong.
func answers(t *rapid.T) []quorum.Answer {
	out := cluster(rapid.StringOfN(rapid.RuneFrom([]rune("hhhhsdlnuo")), 0, 7, -1).Draw(t, "states"))
	for i := range out {
		a := &out[i]
		if rapid.IntRange(0, 9).Draw(t, "meddle") > 0 {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			a.ClusterID++
		case 1:
			a.MemberID = uint64(rapid.IntRange(0, 7).Draw(t, "id"))
		case 2:
			a.Listed = a.Listed[:len(a.Listed)/2]
		case 3:
			a.Confirmed = !a.Confirmed
		case 4:
			a.Connected = nil
		case 5:
			a.Leader = 0
		}
	}
	return out
}

// voters counts the listed voters, and the healthy ones among them without the node to disturb. It is independent
// of the implementation under test.
func voters(list []quorum.Answer, disturb string) (all, healthy int) {
	var listed []quorum.Listed
	for _, a := range list {
		if a.MemberID != 0 && a.Confirmed && len(a.Listed) > 0 {
			listed = a.Listed
		}
	}
	for _, l := range listed {
		if l.Learner {
			continue
		}
		all++
		for _, a := range list {
			if a.MemberID == l.ID && a.Healthy && a.Node != disturb {
				healthy++
				break
			}
		}
	}
	return all, healthy
}

func TestNeverWithoutAQuorumOfTheOthers(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		list := answers(t)
		disturb := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(t, "disturb")
		o := quorum.Observe(list)
		strategy := rapid.SampledFrom([]configv1alpha1.QuorumStrategy{automatic, many}).Draw(t, "strategy")
		verdict := quorum.Assess(strategy, o, disturb)
		all, healthy := voters(list, disturb)
		if strategy == automatic && all < 3 {
			return
		}
		if verdict.Safe && healthy < all/2+1 {
			t.Fatalf("safe (%s: %s) with %d healthy others of %d", verdict.Reason, verdict.Message, healthy, all)
		}
		if m := o.Member(disturb); verdict.Safe && m.Voter && m.Healthy && healthy != all-1 {
			t.Fatalf("a healthy member is disturbed (%s) while only %d of %d others are healthy", verdict.Message, healthy, all-1)
		}
	})
}

// TestOrderOfAnswers: the verdict does not depend on the order of the answers, and always has a message.
func TestOrderOfAnswers(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		list := answers(t)
		strategy := rapid.SampledFrom([]configv1alpha1.QuorumStrategy{automatic, many, two, one}).Draw(t, "strategy")
		disturb := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "disturb")
		before := quorum.Assess(strategy, quorum.Observe(list), disturb)
		after := quorum.Assess(strategy, quorum.Observe(rapid.Permutation(list).Draw(t, "order")), disturb)
		if before.Safe != after.Safe {
			t.Fatalf("%s: %s\nin another order %s: %s", before.Reason, before.Message, after.Reason, after.Message)
		}
		if back := quorum.Rejoined(quorum.Observe(list), "a"); back.Message == "" {
			t.Fatal("no message")
		}
	})
}
