// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Assess decides whether the member on a node may be restarted now. With the node "" it decides whether a new
// revision may be created. That restarts no member by itself: it is safe if some node may restart first.
//
// Callers must not ask before any node runs a member: then there is nothing to disturb, and no member to answer.
func Assess(strategy configv1alpha1.QuorumStrategy, o Observation, disturb string) Verdict {
	strategy = cmp.Or(strategy, configv1alpha1.QuorumAutomatic)
	if v, decided := o.unusable(strategy); decided {
		return v
	}
	if disturb == "" {
		return o.assessAny(strategy)
	}
	m := o.Member(disturb)
	if m == nil {
		return notAsked(disturb)
	}
	if !m.Voter {
		return o.assessWithoutVote(m)
	}
	if strategy == configv1alpha1.QuorumAutomatic {
		strategy = fitting(len(o.Voters))
	}
	switch strategy {
	case configv1alpha1.QuorumSingleNode:
		return single(m.display())
	case configv1alpha1.QuorumTwoNode:
		return o.assessTwo(m)
	case configv1alpha1.QuorumHighAvailability:
		return o.assessMany(m)
	case configv1alpha1.QuorumAutomatic:
	}
	return unsafe(ReasonStrategyMismatch, fmt.Sprintf("the quorum strategy %q is not known", strategy))
}

// unusable returns a verdict if the observation cannot be evaluated or need not be.
func (o Observation) unusable(strategy configv1alpha1.QuorumStrategy) (v Verdict, decided bool) {
	n := len(o.Voters)
	switch {
	case strategy == configv1alpha1.QuorumSingleNode && n <= 1 && o.nodes() <= 1:
		return single("the only member"), true
	case o.Problem != "":
		return unsafe(ReasonContradiction, o.Problem), true
	case n == 0:
		return unsafe(ReasonStateUnknown, "no member says who belongs to the cluster: "+o.failures()), true
	case strategy != configv1alpha1.QuorumAutomatic && strategy != fitting(n):
		return unsafe(ReasonStrategyMismatch, fmt.Sprintf(
			"the quorum strategy %s does not fit %s, %s does: change it, or remove it to have it chosen",
			strategy, voters(n), fitting(n))), true
	}
	return Verdict{}, false
}

func fitting(n int) configv1alpha1.QuorumStrategy {
	switch n {
	case 1:
		return configv1alpha1.QuorumSingleNode
	case 2:
		return configv1alpha1.QuorumTwoNode
	default:
		return configv1alpha1.QuorumHighAvailability
	}
}

func voters(n int) string {
	if n == 1 {
		return "a cluster of 1 voter"
	}
	return fmt.Sprintf("a cluster of %d voters", n)
}

// assessAny looks for a node that may restart first, broken ones before healthy ones. If there is none, it returns
// the verdict on the last one, healthy if possible.
func (o Observation) assessAny(strategy configv1alpha1.QuorumStrategy) Verdict {
	var against Verdict
	for _, isHealthy := range []bool{false, true} {
		for i := range o.Members {
			m := &o.Members[i]
			if m.Node == "" || m.Healthy != isHealthy {
				continue
			}
			v := Assess(strategy, o, m.Node)
			if v.Safe {
				return v
			}
			against = v
		}
	}
	if against.Reason == "" {
		return unsafe(ReasonStateUnknown, "no node was asked; look again")
	}
	return against
}

// assessWithoutVote handles a learner, or a node whose member is not in the cluster's list.
func (o Observation) assessWithoutVote(m *Member) Verdict {
	others := o.others(m)
	if len(healthy(others)) < o.Quorum() || !o.Confirmed {
		return unsafe(ReasonQuorumAtRisk, fmt.Sprintf("%s has no vote, but the voters have no quorum: %s", m.display(), listBroken(others)))
	}
	return safe(ReasonNoVote, fmt.Sprintf("%s has no vote, and %d of %d voters are healthy", m.display(), len(healthy(others)), len(o.Voters)))
}

func single(member string) Verdict {
	return safe(ReasonInterruption, fmt.Sprintf("while %s restarts, nothing can be read or written", member))
}

func (o Observation) assessTwo(m *Member) Verdict {
	other := o.others(m)[0]
	switch {
	case m.Healthy && other.Healthy && !o.Confirmed:
		return unsafe(ReasonQuorumAtRisk, "both members are healthy, but the list of members could not be read linearizably; look again")
	case m.Healthy && other.Healthy:
		return safe(ReasonInterruption, fmt.Sprintf("both members are healthy; while %s restarts, nothing can be written", m.display()))
	case m.Healthy:
		return unsafe(ReasonDegraded, fmt.Sprintf("%s is not healthy and has to be repaired first: %s", other.display(), other.why()))
	case other.Healthy, !m.Answers && other.Answers:
		return safe(ReasonRepair, fmt.Sprintf("%s is broken (%s), and %s answers", m.display(), m.why(), other.display()))
	case !other.Answers:
		return unsafe(ReasonQuorumAtRisk, fmt.Sprintf(
			"%s does not answer either: %s; have one of the two answer, or use certrotation recover", other.display(), other.why()))
	}
	return unsafe(ReasonQuorumAtRisk, fmt.Sprintf(
		"both members answer but have no quorum, so they do not reach each other: check the network and the peer certificates of %s and %s",
		m.display(), other.display()))
}

func (o Observation) assessMany(m *Member) Verdict {
	others := o.others(m)
	well := healthy(others)
	if len(well) < o.Quorum() || !o.Confirmed {
		return unsafe(ReasonQuorumAtRisk, fmt.Sprintf("without %s, %d healthy voters would be left, of %d that a quorum needs: %s",
			m.display(), len(well), o.Quorum(), listBroken(others)))
	}
	if x, y := disconnected(well); x != nil {
		return unsafe(ReasonDisconnected, fmt.Sprintf(
			"without %s, %s and %s would have to agree, but they are not connected: check the network and their peer certificates%s",
			m.display(), x.display(), y.display(), failureOf(x, y)))
	}
	if !m.Healthy {
		return safe(ReasonRepair, fmt.Sprintf("%s is broken (%s), and %d other voters are healthy, of %d that a quorum needs",
			m.display(), m.why(), len(well), o.Quorum()))
	}
	if len(well) < len(others) {
		return unsafe(ReasonDegraded, "another member is already broken and has to be repaired first: "+listBroken(others))
	}
	return safe(ReasonQuorumKept, fmt.Sprintf("without %s, %d healthy voters are left, of %d that a quorum needs",
		m.display(), len(well), o.Quorum()))
}

// disconnected returns two members that are not connected in both directions, or nils.
func disconnected(members []*Member) (x, y *Member) {
	for i, x := range members {
		for _, y := range members[i+1:] {
			if !slices.Contains(x.Connected, y.MemberID) || !slices.Contains(y.Connected, x.MemberID) {
				return x, y
			}
		}
	}
	return nil, nil
}

// failureOf lists the failures of members, as a suffix for a message.
func failureOf(members ...*Member) string {
	var out strings.Builder
	for _, m := range members {
		if m.Failure != "" {
			out.WriteString("; " + m.display() + ": " + m.Failure)
		}
	}
	return out.String()
}

func listBroken(members []*Member) string {
	var parts []string
	for _, m := range broken(members) {
		parts = append(parts, m.display()+": "+m.why())
	}
	if len(parts) == 0 {
		return "the list of members could not be read linearizably; look again"
	}
	return strings.Join(parts, "; ")
}

func (o Observation) failures() string {
	var parts []string
	for i := range o.Members {
		m := &o.Members[i]
		parts = append(parts, m.display()+": "+m.why())
	}
	if len(parts) == 0 {
		return "no node was asked"
	}
	return strings.Join(parts, "; ")
}
