// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"time"

	"certrotation.dev/registry/quorum"
)

// Poll intervals of members while an answer is awaited.
const (
	rejoinPoll = 2 * time.Second
	quorumPoll = 5 * time.Second
)

// assessOutcomes evaluates what installers have written, and records what runs.
func (a *assessor) assessOutcomes() {
	for _, m := range a.members {
		switch {
		case m.written != nil:
			a.assessWritten(m)
		case m.installed != nil && m.active == nil:
			a.assessInstalled(m)
		}
	}
}

func (a *assessor) assessWritten(m *member) {
	r, from := m.revision, m.written.FinishedAt
	if !m.runs(r) {
		if m.Pod == nil || m.written.Restarts {
			a.missing(m, from)
		}
		a.wait(m.Name, ReasonStaticPodPending, from, a.state.Limits.StaticPodTimeout,
			fmt.Sprintf("waiting for static pod of revision %d, found %s", r.Number, found(m.Pod)))
		return
	}
	if m.written.Restarts && !a.rejoined(m, from) {
		return
	}
	a.do(Action{Kind: MarkInstalled, Node: m.Name, NodeUID: m.UID, Revision: r.Number,
		Reason: fmt.Sprintf("%s has installed it", m.written.Name)})
}

func (a *assessor) rejoined(m *member, from time.Time) bool {
	limit := a.state.Limits.StaticPodTimeout
	if !m.Pod.Ready {
		a.wait(m.Name, ReasonStaticPodPending, from, limit, fmt.Sprintf("the static pod of revision %d is not ready: %s", m.revision.Number, trouble(m.Pod)))
		return false
	}
	if !a.state.Quorum.Configured {
		return true
	}
	o, ok := a.observation()
	if !ok {
		a.waitForQuorum(m.Name, ReasonNotRejoined, from, rejoinPoll, a.state.Quorum.Failure)
		return false
	}
	if v := quorum.Rejoined(*o, m.Name); !v.Safe {
		a.waitForQuorum(m.Name, ReasonNotRejoined, from, rejoinPoll, v.Message)
		return false
	}
	return true
}

// assessInstalled evaluates a node with an installed revision and no active installer.
func (a *assessor) assessInstalled(m *member) {
	if m.Pod == nil {
		a.missing(m, time.Time{})
		return
	}
	if !m.runs(m.installed) && !m.restarting() {
		a.wait(m.Name, ReasonRolledBack, time.Time{}, a.state.Limits.StaticPodTimeout, fmt.Sprintf(
			"revision %d was installed, but the static pod runs %s; to have it installed again, delete its installer pods of this node and remove the annotation of the node from revision-status-%d",
			m.installed.Number, found(m.Pod), m.installed.Number))
	}
}

// missing reports that kubelet does not run the installed manifest. It is overdue after Limits.Missing.
func (a *assessor) missing(m *member, from time.Time) {
	from = a.since(m.Name, ReasonMissingStaticPod, from)
	a.wait(m.Name, ReasonMissingStaticPod, from, a.state.Limits.Missing, fmt.Sprintf(
		"a manifest was installed, but kubelet runs %s; look at the manifests and the kubelet of the node", found(m.Pod)))
}

func found(p *StaticPod) string {
	switch {
	case p == nil:
		return "none"
	case p.Discord != "":
		return p.Discord
	case p.Revision == 0:
		return "one of no known revision"
	}
	return revisionOf(p)
}

func revisionOf(p *StaticPod) string {
	if p.Revision == 0 {
		return "no known revision"
	}
	return fmt.Sprintf("revision %d", p.Revision)
}

func trouble(p *StaticPod) string {
	return cmp.Or(p.Trouble, p.Discord, "it is "+p.Phase)
}

// observation returns the observation of the quorum, or requests one.
func (a *assessor) observation() (*quorum.Observation, bool) {
	q := &a.state.Quorum
	if q.Observation == nil && q.Failure == "" {
		a.out.NeedsQuorum = true
	}
	return q.Observation, q.Observation != nil
}

func (a *assessor) waitForQuorum(node string, reason Reason, from time.Time, poll time.Duration, message string) {
	a.wait(node, reason, from, a.state.Limits.StaticPodTimeout, message)
	a.out.recheck(a.state.Now.Add(poll))
}
