// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"time"
)

func (a *assessor) status() *Status {
	out := &Status{Blockers: a.blockers}
	if a.latest != nil {
		out.LatestAvailableRevision = a.latest.Number
	}
	for _, m := range a.members {
		out.Nodes = append(out.Nodes, a.nodeStatus(m))
	}
	slices.SortStableFunc(out.Blockers, func(x, y Blocker) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.Reason, y.Reason))
	})
	out.Conditions = a.conditions(out)
	return out
}

func (a *assessor) nodeStatus(m *member) NodeStatus {
	out := NodeStatus{Name: m.Name, UID: m.UID, CurrentRevision: a.current(m), LastFailed: m.failed}
	if a.latest != nil && !m.has(a.latest) {
		out.PendingSince = cmp.Or(m.record.PendingSince, a.seconds())
	}
	a.target(m, &out)
	return out
}

// target sets the revision that is on its way to the node: about to start, running, written, or begun without an
// observed end.
func (a *assessor) target(m *member, out *NodeStatus) {
	begun := m.record.TargetRevision > m.installedNumber()
	if begun {
		out.TargetRevision, out.TargetAttempt, out.TargetRestarts = m.record.TargetRevision, m.record.TargetAttempt, m.record.TargetRestarts
	}
	set := func(revision, attempt int, restarts bool) {
		out.TargetRevision, out.TargetAttempt = revision, attempt
		out.TargetRestarts = restarts || begun && m.record.TargetRestarts
	}
	started := slices.IndexFunc(a.out.Actions, func(action Action) bool {
		return action.Kind == RunInstaller && action.Node == m.Name
	})
	switch {
	case started >= 0:
		set(a.out.Actions[started].Revision, a.out.Actions[started].Attempt, a.out.Actions[started].Restarts)
	case m.active != nil:
		set(m.active.Revision, m.active.Attempt, m.active.Restarts)
	case m.written != nil && m.written.Revision >= out.TargetRevision:
		set(m.written.Revision, m.written.Attempt, m.written.Restarts)
	}
	if out.TargetRevision == 0 {
		return
	}
	out.TargetSince = a.seconds()
	if begun && out.TargetRevision == m.record.TargetRevision && m.record.TargetSince != nil {
		out.TargetSince = m.record.TargetSince
	}
}

func (a *assessor) seconds() *time.Time {
	now := a.now.UTC()
	return &now
}
