// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"certrotation.dev/registry/quorum"
)

// mayRestart reports whether the static pod of a node may restart now. first means that no other node comes before
// it. Otherwise the node may only found a cluster together with the others.
func (a *assessor) mayRestart(m *member, first bool) bool {
	if a.cutting {
		a.wait("", ReasonSourceChanging, a.state.Source.Differs, patience*a.state.Limits.Coalesce,
			"another revision is about to be cut; nothing is restarted for the one before")
		return false
	}
	if m.empty() && a.founding() {
		return true
	}
	if !first || a.out.NeedsQuorum || !a.othersQuiet(m) {
		return false
	}
	if !a.state.Quorum.Configured {
		return a.othersWell(m)
	}
	o, ok := a.observation()
	if !ok {
		if a.state.Quorum.Failure != "" {
			a.waitForQuorum(m.Name, ReasonQuorum, time.Time{}, quorumPoll, a.state.Quorum.Failure)
		}
		return false
	}
	v := quorum.Assess(a.state.Quorum.Strategy, *o, m.Name)
	if !v.Safe {
		a.waitForQuorum(m.Name, ReasonQuorum, time.Time{}, quorumPoll, v.Message)
		return false
	}
	switch v.Reason {
	case quorum.ReasonRepair, quorum.ReasonNoVote:
		return true
	default:
		return a.othersWell(m)
	}
}

// founding reports whether no node runs a member and none ever did, so a restart disturbs none. New members may need
// each other to become ready, so they do not wait for each other.
func (a *assessor) founding() bool {
	for _, m := range a.members {
		if m.installed != nil || m.active != nil || m.Pod != nil && m.Pod.Ready {
			return false
		}
	}
	if !a.state.Quorum.Configured {
		return true
	}
	o, ok := a.observation()
	if !ok {
		return false
	}
	for i := range o.Members {
		if m := &o.Members[i]; m.Healthy || m.Answers && !a.foundedOn(m.Node) {
			return false
		}
	}
	return len(o.Voters) == 0 || !o.Confirmed
}

// foundedOn reports whether one of our installers started the answering process on the node for the first time.
func (a *assessor) foundedOn(node string) bool {
	for _, m := range a.members {
		if m.Name == node {
			return m.written != nil
		}
	}
	return false
}

// othersQuiet reports whether no other static pod is restarting.
func (a *assessor) othersQuiet(than *member) bool {
	quiet := true
	for _, m := range a.members {
		if m == than || m.active == nil && !m.restarting() || a.passed(m) {
			continue
		}
		quiet = false
		if m.active == nil && m.written == nil {
			a.wait(than.Name, ReasonDegraded, time.Time{}, a.state.Limits.StaticPodTimeout,
				fmt.Sprintf("revision %d has been begun on the node %s and has not been seen to run there", m.record.TargetRevision, m.Name))
		}
	}
	return quiet
}

// passed reports whether a begun restart is over although its end was not recorded. Either its installer failed or
// was lost, and the node is well or still runs the revision from before. Or the restart was observed, and the static
// pod is not Ready. Such a pod may be unready because of the very member to repair, so it must not hold up the
// repair.
func (a *assessor) passed(m *member) bool {
	if m.active != nil || m.record.TargetSince == nil {
		return false
	}
	from := *m.record.TargetSince
	switch {
	case m.written != nil:
		if !m.Ready || !m.runs(m.revision) || m.Pod.Ready {
			return false
		}
		from = m.written.FinishedAt
	case !m.well() && !m.unchanged():
		return false
	case m.failed != nil && m.failed.Time.After(from):
		from = m.failed.Time
	}
	at := from.Add(a.state.Limits.Missing)
	if a.now.Before(at) {
		a.out.recheck(at)
		return false
	}
	return true
}

// othersWell reports whether every other node and static pod is well. Then a restart makes only this one unavailable.
func (a *assessor) othersWell(than *member) bool {
	well := true
	for _, m := range a.members {
		if m == than || m.well() || m.empty() {
			continue
		}
		well = false
		why := "has no static pod"
		switch {
		case !m.Ready:
			why = "is not ready: " + m.NotReady
		case m.Pod != nil:
			why = "has a static pod that is not ready: " + trouble(m.Pod)
		}
		a.wait(than.Name, ReasonDegraded, time.Time{}, a.state.Limits.StaticPodTimeout, fmt.Sprintf("the node %s %s", m.Name, why))
	}
	return well
}
